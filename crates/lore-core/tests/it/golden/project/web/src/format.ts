// Numbers as people read them.

import type { Job } from "./api";

const UNITS: [string, number][] = [
  ["d", 86_400],
  ["h", 3_600],
  ["min", 60],
  ["s", 1],
];

/** Seconds as the two largest units: `2 h 5 min`. */
export function formatDuration(seconds: number): string {
  if (seconds < 1) return `${Math.round(seconds * 1000)} ms`;
  const parts: string[] = [];
  let rest = Math.floor(seconds);
  for (const [unit, size] of UNITS) {
    const count = Math.floor(rest / size);
    rest -= count * size;
    if (count > 0) parts.push(`${count} ${unit}`);
  }
  return parts.slice(0, 2).join(" ");
}

/** Bytes with a binary unit: `1.5 MiB`. */
export function formatBytes(bytes: number): string {
  const units = ["B", "KiB", "MiB", "GiB"];
  let at = 0;
  while (bytes >= 1024 && at < units.length - 1) {
    bytes /= 1024;
    at += 1;
  }
  return `${at === 0 ? bytes : bytes.toFixed(1)} ${units[at]}`;
}

/** How long a job took, or nothing while it runs. */
export function elapsed(job: Job): string {
  if (!job.finishedAt) return "";
  return formatDuration((Date.parse(job.finishedAt) - Date.parse(job.createdAt)) / 1000);
}
