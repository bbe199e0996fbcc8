// @vitest-environment jsdom
import { beforeEach, expect, test, vi } from "vitest";
import { RecentQueries } from "$/pages/query/recent-queries.svelte";

const KEY = "anabranch.queries";

beforeEach(() => {
  localStorage.clear();
});

test("the newest query is first, each is kept once, and a new page finds them", () => {
  const recent = new RecentQueries();
  for (const sql of ["SELECT 1", "SELECT 2", "SELECT 1", "  "]) recent.add("ann", "sea", sql);
  expect(recent.of("ann", "sea")).toEqual(["SELECT 1", "SELECT 2"]);
  expect(new RecentQueries().of("ann", "sea")).toEqual(["SELECT 1", "SELECT 2"]);
});

test("queries of other users and repositories are neither shown nor cleared", () => {
  const recent = new RecentQueries();
  recent.add("ann", "sea", "SELECT 1");
  recent.add("bob", "sea", "SELECT 2");
  recent.add("ann", "lake", "SELECT 3");
  expect(recent.of("ann", "sea")).toEqual(["SELECT 1"]);
  recent.clear("ann", "sea");
  expect(recent.of("ann", "sea")).toEqual([]);
  expect([recent.of("bob", "sea"), recent.of("ann", "lake")]).toEqual([["SELECT 2"], ["SELECT 3"]]);
});

test("their number and length are bounded, and nothing stays when all are cleared", () => {
  const recent = new RecentQueries();
  for (let number = 0; number < 30; number += 1) recent.add("ann", "sea", `SELECT ${number}`);
  recent.add("ann", "sea", `SELECT '${"x".repeat(10_000)}'`);
  const kept = recent.of("ann", "sea");
  expect([kept.length, kept[0], kept.at(-1)]).toEqual([20, "SELECT 29", "SELECT 10"]);
  recent.clear("ann", "sea");
  expect(localStorage.getItem(KEY)).toBeNull();
});

test("what another tab has added stays", () => {
  const [one, other] = [new RecentQueries(), new RecentQueries()];
  one.add("ann", "sea", "SELECT 1");
  other.add("ann", "sea", "SELECT 2");
  expect(other.of("ann", "sea")).toEqual(["SELECT 2", "SELECT 1"]);
});

test.each(["{", "null", '{"a": 1}', '[1, null, {"user": "ann"}, {"user": "ann", "repository": "sea", "sql": 1}]'])(
  "what is not a list of queries is none: %s",
  (stored) => {
    localStorage.setItem(KEY, stored);
    expect(new RecentQueries().of("ann", "sea")).toEqual([]);
  },
);

test("without storage they hold until the page is left", () => {
  const recent = new RecentQueries();
  vi.spyOn(Storage.prototype, "setItem").mockImplementation(() => {
    throw new DOMException("full", "QuotaExceededError");
  });
  recent.add("ann", "sea", "SELECT 1");
  expect(recent.of("ann", "sea")).toEqual(["SELECT 1"]);
  vi.restoreAllMocks();
});
