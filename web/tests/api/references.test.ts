import { expect, test } from "vitest";
import { findReference } from "$/api/references";
import { json, respond } from "../network";

const BRANCHES = ["dev", "develop", "main"];
const TAGS = ["develop-1", "v1"];

/** Responds as a repository with these branches and tags does. */
function serve() {
  const first = (names: string[], prefix: string) =>
    json({ results: names.filter((id) => id.startsWith(prefix)).slice(0, 1).map((id) => ({ id, commit_id: `of ${id}` })), pagination: {} });
  return respond(({ path, query }) => {
    const prefix = query.get("prefix") ?? "";
    if (path.endsWith("/branches")) return first(BRANCHES, prefix);
    if (path.endsWith("/tags")) return first(TAGS, prefix);
    const id = decodeURIComponent(path.split("/").at(-1) ?? "");
    return id.startsWith("main~") ? json({ id: "c1" }) : json({ message: "not found" }, 404);
  });
}

test.each([
  ["dev", { kind: "branch", commitId: "of dev" }],
  ["develop", { kind: "branch", commitId: "of develop" }],
  ["v1", { kind: "tag", commitId: "of v1" }],
  ["main~2", { kind: "commit", commitId: "c1" }],
])("%s is found", async (name, reference) => {
  serve();
  expect(await findReference("sea", name)).toEqual({ name, ...reference });
});

test("the beginning of a name is no name", async () => {
  const requests = serve();
  await expect(findReference("sea", "develo")).rejects.toMatchObject({ status: 404 });
  expect(requests).toHaveLength(3);
});
