// @vitest-environment jsdom
// The tree of changes, against counts that are made from the list.

import fc from "fast-check";
import { expect, test } from "vitest";
import type { Diff } from "$/api/types";
import { type ChangeRow, ChangeTree, type LoadChanges } from "$/changes/change-tree.svelte";
import { entryChanged } from "$/router/places";

const KINDS = ["added", "changed", "removed", "conflict"] as const;

const changes: fc.Arbitrary<Diff[]> = fc
  .uniqueArray(
    fc.record({
      path: fc.array(fc.constantFrom("a", "b", "c", "d"), { minLength: 1, maxLength: 4 }).map((names) => names.join("/")),
      type: fc.constantFrom(...KINDS),
      size_bytes: fc.nat(1000),
    }),
    { selector: ({ path }) => path, maxLength: 60 },
  )
  .map((list) =>
    list.map((change): Diff => ({ ...change, path_type: "object" })).sort((one, other) => (one.path < other.path ? -1 : 1)),
  );

/** Loads a list in pages of `rows`. */
function listOf(list: readonly Diff[], rows: number): LoadChanges {
  return (after) => {
    const start = Number(after || 0);
    const end = Math.min(start + rows, list.length);
    return Promise.resolve({
      results: list.slice(start, end),
      pagination: { has_more: end < list.length, next_offset: String(end) },
    });
  };
}

async function treeOf(list: readonly Diff[], rows = 7): Promise<ChangeTree> {
  entryChanged(); // nothing is kept of the trees before
  window.history.replaceState(null, "");
  const tree = new ChangeTree(listOf(list, rows));
  await tree.start();
  return tree;
}

function below(list: readonly Diff[], folder: string): Diff[] {
  return list.filter(({ path }) => path.startsWith(folder));
}

function countsOf(list: readonly Diff[]): Record<string, number> {
  return Object.fromEntries(KINDS.map((kind) => [kind, list.filter(({ type }) => type === kind).length]));
}

function bytesOf(list: readonly Diff[]): number {
  return list.filter(({ type }) => type !== "removed").reduce((sum, { size_bytes = 0 }) => sum + size_bytes, 0);
}

test("folders and the whole have the counts and sizes of what is below them", async () => {
  await fc.assert(
    fc.asyncProperty(changes, fc.integer({ min: 1, max: 9 }), async (list, rows) => {
      const tree = await treeOf(list, rows);
      tree.toggleAll(true);
      expect(tree.complete).toBe(true);
      expect({ ...tree.counts }).toEqual(countsOf(list));
      expect([tree.total, tree.bytes]).toEqual([list.length, bytesOf(list)]);
      for (const { node } of tree.rows) {
        const own = node.change ? [node.change] : below(list, node.path);
        expect({ ...node.counts }).toEqual(countsOf(own));
        expect(node.bytes).toBe(bytesOf(own));
      }
    }),
  );
});

test("an open tree has a line for each change, at the level of its folder's line plus one", async () => {
  await fc.assert(
    fc.asyncProperty(changes, async (list) => {
      const tree = await treeOf(list);
      tree.toggleAll(true);
      const paths = tree.rows.flatMap(({ node }) => node.change?.path ?? []);
      expect(paths.toSorted()).toEqual(list.map(({ path }) => path).sort());
      const open: ChangeRow[] = [];
      for (const row of tree.rows) {
        open.length = row.level - 1;
        const parent = open.at(-1);
        expect((parent?.node.path ?? "") + row.name).toBe(row.node.path);
        open.push(row);
      }
    }),
  );
});

test("no line of a folder has only one other folder below it", async () => {
  await fc.assert(
    fc.asyncProperty(changes, async (list) => {
      for (const { node } of (await treeOf(list)).rows) {
        const children = [...node.children.values()];
        expect(children.length === 1 && children[0]?.change === undefined).toBe(false);
      }
    }),
  );
});

const change = (path: string): Diff => ({ path, type: "added", path_type: "object", size_bytes: 1 });
const names = (tree: ChangeTree) => tree.rows.map(({ name }) => name);

test("folders with more than 50 changes begin closed, and are opened one by one or all at once", async () => {
  const many = Array.from({ length: 51 }, (_, index) => change(`many/${index}`));
  const tree = await treeOf([change("few/a"), ...many]);
  expect(names(tree)).toEqual(["few/", "a", "many/"]);
  const row = tree.rows[2];
  if (row) tree.toggle(row, true);
  expect(tree.rows.length).toBe(54);
  tree.toggleAll(false);
  expect(names(tree)).toEqual(["few/", "many/"]);
});

test("what was opened is opened in the next tree at this entry of the history", async () => {
  const list = [change("a/b/c"), change("d/e"), change("d/f")];
  const tree = await treeOf(list);
  tree.toggleAll(false);
  expect(names(tree)).toEqual(["a/b/", "d/"]);
  const [row] = tree.rows;
  if (row) tree.toggle(row, true);
  const again = new ChangeTree(listOf(list, 1));
  await again.start();
  expect(names(again)).toEqual(["a/b/", "c", "d/"]);
});

test("an object with the name of a folder, and the folder's marker, have lines of their own", async () => {
  const tree = await treeOf([change("a"), change("a/"), change("a/b")]);
  expect(names(tree)).toEqual(["a", "a/", "(folder marker)", "b"]);
  expect(tree.total).toBe(3);
});

test("after an error, the tree goes on where it ended", async () => {
  const list = Array.from({ length: 5 }, (_, index) => change(`${index}`));
  const load = listOf(list, 2);
  let calls = 0;
  const tree = new ChangeTree((after, amount, signal) => {
    calls += 1;
    return calls === 2 ? Promise.reject(new Error("lost")) : load(after, amount, signal);
  });
  await tree.start();
  expect([tree.error?.message, tree.complete, tree.loading, tree.total]).toEqual(["lost", false, false, 2]);
  await tree.start();
  expect([tree.error, tree.complete, tree.total]).toEqual([undefined, true, 5]);
});

test("the kind of each difference is found by its path, and folders have none", async () => {
  await fc.assert(
    fc.asyncProperty(changes, async (list) => {
      const tree = await treeOf(list);
      for (const { path, type } of list) expect(tree.kindAt(path)).toBe(type);
      const paths = new Set(list.map(({ path }) => path));
      for (const path of ["a", "b/c", "a/", "x/y"]) if (!paths.has(path)) expect(tree.kindAt(path)).toBeUndefined();
    }),
  );
});
