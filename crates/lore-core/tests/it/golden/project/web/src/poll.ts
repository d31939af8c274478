// Keeps a list of jobs fresh while somebody looks at it.

import { debounce } from "../vendor/debounce";
import { ApiError, fetchJobs, type Job, type JobStatus } from "./api";

export interface Polling {
  stop(): void;
  refresh(): void;
}

/** Asks for jobs at an interval; slows down when the server says that it is too much. */
export function pollJobs(show: (jobs: Job[]) => void, status?: JobStatus, interval = 2000): Polling {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let wait = interval;

  async function tick(): Promise<void> {
    try {
      show(await fetchJobs(status));
      wait = interval;
    } catch (error) {
      if (error instanceof ApiError && error.status === 429) wait = Math.min(wait * 2, 60_000);
    }
    timer = setTimeout(tick, wait);
  }

  // A refresh on every key press would be too many.
  const refresh = debounce(() => {
    clearTimeout(timer);
    void tick();
  }, 250);

  void tick();
  return { stop: () => clearTimeout(timer), refresh };
}
