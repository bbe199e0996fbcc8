// A long listing, whose rows are their numbers, looked at in any order.

import fc from "fast-check";
import { expect, test } from "vitest";
import { type LoadRows, PagedRows } from "$/api/paged-rows.svelte";
import { Listing } from "$/api/pages.svelte";
import { Resource } from "$/api/resource.svelte";

function numbers(length: number, log: number[] = []): LoadRows<number> {
  return (after, amount) => {
    const start = Number(after || 0);
    const end = Math.min(start + amount, length);
    log.push(start);
    const results = Array.from({ length: end - start }, (_, index) => start + index);
    return Promise.resolve({ results, pagination: { has_more: end < length, next_offset: String(end) } });
  };
}

async function settled(rows: PagedRows<number>): Promise<void> {
  do await new Promise((resolve) => setTimeout(resolve));
  while (rows.loading);
}

test("rows that are looked at are loaded, wherever they are, and each is at its place", async () => {
  const looks = fc.array(fc.nat(60_000), { minLength: 1, maxLength: 12 });
  await fc.assert(
    fc.asyncProperty(fc.nat(60_000), looks, async (length, places) => {
      const rows = new PagedRows(numbers(length));
      rows.want(0, 30);
      await settled(rows);
      for (const place of places) {
        const first = Math.min(place, Math.max(0, rows.count - 1)); // a list shows rows that are known
        rows.want(first, first + 30);
        await settled(rows);
        for (let index = first; index < Math.min(first + 30, length); index += 1) expect(rows.row(index)).toBe(index);
      }
      expect(rows.count).toBeLessThanOrEqual(length);
      expect(rows.complete).toBe(rows.count === length);
      expect(rows.row(rows.count)).toBeUndefined();
    }),
    { numRuns: 20 },
  );
});

test("rows far from those that are shown are forgotten, and loaded again from where their page began", async () => {
  const log: number[] = [];
  const rows = new PagedRows(numbers(100_000, log));
  rows.want(0, 30);
  await settled(rows);
  while (!rows.complete) {
    rows.want(rows.count - 30, rows.count);
    await settled(rows);
  }
  const kept = Array.from({ length: rows.count }, (_, index) => rows.row(index)).filter((row) => row !== undefined);
  expect(kept.length).toBeLessThanOrEqual(42_000);
  expect(rows.row(0)).toBeUndefined();
  log.length = 0;
  rows.want(0, 30);
  await settled(rows);
  expect([rows.row(0), rows.row(30), log[0]]).toEqual([0, 30, 0]);
});

test("after an error the rest is loaded on demand, and a restart shows the new rows", async () => {
  let isBroken = true;
  let load = numbers(10);
  const rows = new PagedRows<number>((...request) => (isBroken ? Promise.reject(new Error("lost")) : load(...request)));
  rows.want(0, 5);
  await settled(rows);
  expect([rows.error?.message, rows.count]).toEqual(["lost", 0]);
  isBroken = false;
  rows.retry();
  await settled(rows);
  expect([rows.error, rows.count, rows.complete]).toEqual([undefined, 10, true]);
  load = numbers(3);
  rows.restart();
  expect(rows.count).toBe(10);
  await settled(rows);
  expect([rows.count, rows.row(3)]).toEqual([3, undefined]);
});

test("a listing grows page by page, and begins again with the first", async () => {
  const load = numbers(250);
  const listing = new Listing<number>((after, signal) => load(after, 100, signal));
  for (const length of [100, 200, 250, 250]) {
    await listing.more();
    expect(listing.rows).toEqual(Array.from({ length }, (_, index) => index));
  }
  expect(listing.hasMore).toBe(false);
  await listing.restart();
  expect([listing.rows.length, listing.hasMore]).toEqual([100, true]);
});

test("a late response never replaces a newer one", async () => {
  const responses: ((value: string) => void)[] = [];
  const resource = new Resource<string>(() => new Promise((resolve) => responses.push(resolve)));
  const [first, second] = [resource.reload(), resource.reload()];
  responses[1]?.("new");
  await second;
  responses[0]?.("old");
  await first;
  expect([resource.data, resource.loading]).toEqual(["new", false]);
});
