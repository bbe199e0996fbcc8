import { expect, test } from "vitest";
import { seconds } from "$/access/audit-record";

test("a record's time is in seconds since 1970", () => {
  expect(seconds({ time: "1970-01-01T00:01:00.500+00:00", event: "x" })).toBe(60.5);
});
