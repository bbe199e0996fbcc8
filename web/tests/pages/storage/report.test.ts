import { expect, test } from "vitest";
import { findGarbage, freeable, type GarbageFound, loadReport } from "$/pages/storage/report";
import { json, respond } from "../../network";

const none = { objects: 0, bytes: 0 };
const due = { objects: 3, bytes: 5 };
const found: GarbageFound = { run_id: "r", state: "marked", started_at: 0, candidates: due, due, swept: none, quarantined: none, young: 0, next_due_at: 0 };

test("a run that has removed what it found leaves nothing to free", () => {
  expect(freeable(found)).toEqual(due);
  expect(freeable({ ...found, state: "swept" })).toEqual(none);
});

test("the report and the search for garbage are requests of the repository", async () => {
  const report = { branches: [], distinct: none, growth: [], garbage: null, complete: true };
  const requests = respond(() => json(report));
  expect(await loadReport("sea", "main", 20, new AbortController().signal)).toEqual(report);
  await findGarbage("sea");
  expect(requests.map(({ method, path, query }) => [method, path, String(query)])).toEqual([
    ["GET", "/api/v1/repositories/sea/storage", "branch=main&points=20"],
    ["POST", "/api/v1/repositories/sea/storage/garbage", ""],
  ]);
});
