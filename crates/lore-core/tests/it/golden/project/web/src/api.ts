// What the web interface asks of the server.

export type JobStatus = "waiting" | "leased" | "done" | "dead";

export interface Job {
  id: number;
  kind: string;
  status: JobStatus;
  attempts: number;
  createdAt: string;
  finishedAt?: string;
}

export class ApiError extends Error {
  constructor(
    readonly status: number,
    message: string,
  ) {
    super(message);
    this.name = "ApiError";
  }
}

async function request<T>(path: string, init: RequestInit = {}): Promise<T> {
  const token = sessionStorage.getItem("token") ?? "";
  const headers = { ...init.headers, Authorization: `Bearer ${token}` };
  const response = await fetch(path, { ...init, headers });
  if (!response.ok) {
    throw new ApiError(response.status, await response.text());
  }
  return (await response.json()) as T;
}

/** The newest jobs, of one status or of all. */
export function fetchJobs(status?: JobStatus, limit = 50): Promise<Job[]> {
  const query = new URLSearchParams({ limit: String(limit) });
  if (status) query.set("status", status);
  return request<Job[]>(`/jobs?${query}`);
}

/** Puts a dead job back into the queue. */
export function reviveJob(id: number): Promise<Job> {
  return request<Job>(`/jobs/${id}/revive`, { method: "POST" });
}
