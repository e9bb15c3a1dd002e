import { afterEach, beforeEach, vi } from "vitest";

// Library code must hand text to a printer; anything on the console is a leak that users would see between report lines.
const methods = ["log", "info", "warn", "error", "debug"] as const;
let leaked: string[] = [];

beforeEach(() => {
  leaked = [];
  for (const method of methods) {
    vi.spyOn(console, method).mockImplementation((...parts: unknown[]) => {
      leaked.push(`console.${method}: ${parts.map(String).join(" ")}`);
    });
  }
});

afterEach(() => {
  vi.restoreAllMocks();
  if (leaked.length > 0) throw new Error(`The console was used:\n${leaked.join("\n")}`);
});
