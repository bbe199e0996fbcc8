import { expect, test } from "vitest";
import type { Commit } from "$/api/types";
import { type CommitFilters, isFiltered, loadCommits } from "$/history/commit-filters";
import { pageOf, respond } from "../network";

const NONE: CommitFilters = { path: "", author: "", since: "", until: "" };
const signal = new AbortController().signal;

function commit(id: number, committer: string, date = "2026-05-31T12:00:00Z"): Commit {
  const creation_date = Date.parse(date) / 1000;
  return { id: String(id), committer, creation_date, parents: [], message: "", meta_range_id: "", metadata: {}, generation: 1, version: 1 };
}

function serve(commits: readonly Commit[]) {
  return respond(({ query }) => pageOf(commits, query.get("after") ?? "", Number(query.get("amount"))));
}

test("a filter is any text", () => {
  expect(isFiltered(NONE)).toBe(false);
  for (const name of Object.keys(NONE)) expect(isFiltered({ ...NONE, [name]: "x" })).toBe(true);
});

test("the server filters by an object, a folder, and the beginning of a day of the reader's zone", async () => {
  const requests = serve([]);
  await loadCommits("sea", "main", { ...NONE, path: "a/b" }, "", signal);
  await loadCommits("sea", "main", { ...NONE, path: "a/" }, "", signal);
  await loadCommits("sea", "main", { ...NONE, since: "2026-01-31" }, "", signal);
  await loadCommits("sea", "main", { ...NONE, since: "2026-06-30" }, "", signal);
  expect(requests.map(({ query }) => [query.get("objects"), query.get("prefixes"), query.get("since")])).toEqual([
    ["a/b", null, null],
    [null, "a/", null],
    [null, null, "2026-01-31T05:00:00.000Z"],
    [null, null, "2026-06-30T04:00:00.000Z"],
  ]);
});

test("authors are found in any case, and the last day is included", async () => {
  serve([
    commit(1, "Ann@example.com", "2026-06-01T04:00:00Z"),
    commit(2, "ann", "2026-06-01T03:59:59Z"),
    commit(3, "bob", "2026-05-31T00:00:00Z"),
  ]);
  const found = async (filters: Partial<CommitFilters>) =>
    (await loadCommits("sea", "main", { ...NONE, ...filters }, "", signal)).results.map(({ id }) => id);
  expect(await found({ author: "ANN" })).toEqual(["1", "2"]);
  expect(await found({ until: "2026-05-31" })).toEqual(["2", "3"]);
  expect(await found({ author: "ann", until: "2026-05-31" })).toEqual(["2"]);
});

test("commits of an author are sought until there are a hundred, and the next page goes on there", async () => {
  const commits = Array.from({ length: 5000 }, (_, index) => commit(index, index % 10 ? "bob" : "ann"));
  const requests = serve(commits);
  const found: string[] = [];
  for (let after = "", more = true; more; ) {
    const page = await loadCommits("sea", "main", { ...NONE, author: "ann" }, after, signal);
    expect(page.results.length).toBeGreaterThanOrEqual(100);
    found.push(...page.results.map(({ id }) => id));
    ({ has_more: more, next_offset: after } = page.pagination);
  }
  expect(found).toEqual(commits.filter(({ committer }) => committer === "ann").map(({ id }) => id));
  expect(requests).toHaveLength(10);
});

test("a seek in vain ends after 21 requests with an empty page, which more follows", async () => {
  const requests = serve(Array.from({ length: 20_000 }, (_, index) => commit(index, "bob")));
  const page = await loadCommits("sea", "main", { ...NONE, author: "ann" }, "", signal);
  expect(page).toMatchObject({ results: [], pagination: { has_more: true, next_offset: "10500" } });
  expect(requests).toHaveLength(21);
});
