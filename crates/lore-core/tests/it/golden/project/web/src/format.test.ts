import { describe, expect, it } from "vitest";

import { formatBytes, formatDuration } from "./format";

describe("formatDuration", () => {
  it("shows milliseconds below a second", () => {
    expect(formatDuration(0.25)).toBe("250 ms");
  });

  it("shows the two largest units", () => {
    expect(formatDuration(7500)).toBe("2 h 5 min");
    expect(formatDuration(90_061)).toBe("1 d 1 h");
  });

  it("leaves out what is zero", () => {
    expect(formatDuration(3600)).toBe("1 h");
    expect(formatDuration(60)).toBe("1 min");
  });
});

describe("formatBytes", () => {
  it("uses binary units", () => {
    expect(formatBytes(512)).toBe("512 B");
    expect(formatBytes(1536)).toBe("1.5 KiB");
  });
});
