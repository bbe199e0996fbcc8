import { expect, test } from "vitest";
import { mergeBase } from "$/merge/merge-base";
import { json, respond } from "../network";

test("the merge base is asked for by both references", async () => {
  const requests = respond(() => json({ base_commit_id: "b", source_commit_id: "s", destination_commit_id: "d" }));
  expect(await mergeBase("sea", "dev/1", "main")).toBe("b");
  expect(requests[0]?.path).toBe("/api/v1/repositories/sea/refs/dev%2F1/merge/main");
});
