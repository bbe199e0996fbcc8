import { expect, test } from "vitest";
import { commitNames } from "$/history/names";
import { json, respond } from "../network";

test("names are found by the commits that they point to, branches first", async () => {
  const page = (results: { id: string; commit_id: string }[]) => json({ results, pagination: { has_more: false, next_offset: "" } });
  respond(({ path }) =>
    path.endsWith("/tags")
      ? page([{ id: "v1", commit_id: "a" }])
      : page([{ id: "main", commit_id: "a" }, { id: "dev", commit_id: "b" }]),
  );
  expect([...(await commitNames("sea", new AbortController().signal))]).toEqual([
    ["a", [{ kind: "branch", name: "main" }, { kind: "tag", name: "v1" }]],
    ["b", [{ kind: "branch", name: "dev" }]],
  ]);
});
