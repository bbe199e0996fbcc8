import { expect, test } from "vitest";
import { loadTimeline } from "$/pages/pulls/timeline";
import { json, respond } from "../../network";

test("comments and reviews of all pages are in the order of their times", async () => {
  const page = (name: string, times: number[], after: string) => {
    const start = Number(after || 0);
    const results = times.slice(start, start + 1).map((time) => ({ id: `${name}${time}`, creation_date: new Date(time * 1000).toISOString() }));
    const pagination = { has_more: start + 1 < times.length, next_offset: String(start + 1) };
    return json({ results, pagination, approvals: 1, required_approvals: 2 });
  };
  respond(({ path, query }) => {
    const after = query.get("after") ?? "";
    return path.endsWith("/comments") ? page("c", [4, 1, 7], after) : page("r", [5, 2], after);
  });
  const { entries, approvals, required } = await loadTimeline("sea", "p", new AbortController().signal);
  expect(entries.map(({ type, id }) => [type, id])).toEqual([
    ["comment", "c1"],
    ["review", "r2"],
    ["comment", "c4"],
    ["review", "r5"],
    ["comment", "c7"],
  ]);
  expect([approvals, required]).toEqual([1, 2]);
});
