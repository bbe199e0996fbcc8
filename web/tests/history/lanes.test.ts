// The graph of random histories, followed line by line: it has each edge of the history and no other.

import fc from "fast-check";
import { expect, test } from "vitest";
import { type GraphCommit, type GraphRow, layOut } from "$/history/lanes";

/** Histories in which parents follow their children; commit `0` is the newest. Parents beyond the end are
 * those of pages that are not loaded. */
const histories = fc.integer({ min: 0, max: 30 }).chain((length) =>
  fc.tuple(
    ...Array.from({ length }, (_, index) =>
      fc
        .uniqueArray(fc.integer({ min: index + 1, max: length + 2 }), { maxLength: 4 })
        .map((parents): GraphCommit => ({ id: String(index), parents: parents.map(String) })),
    ),
  ),
);

/** Returns the edges that the lines show, as `child-parent`, in sorted order. Edges of a parent that is not
 * among the commits end below the last row and are left out. */
function shownEdges(commits: readonly GraphCommit[], rows: readonly GraphRow[]): string[] {
  const edges: string[] = [];
  let lanes = new Map<number, string[]>(); // the children whose lines a lane holds
  for (const [index, row] of rows.entries()) {
    const below = new Map<number, string[]>();
    const add = (lane: number, children: string[]) => below.set(lane, [...(below.get(lane) ?? []), ...children]);
    const id = commits[index]?.id ?? "";
    for (const line of row.lines) {
      const children = lanes.get(line.from) ?? [];
      if (line.part === "in") edges.push(...children.map((child) => `${child}-${id}`));
      else if (line.part === "past") add(line.to, children);
      else add(line.to, [id]);
    }
    lanes = below;
  }
  return edges.sort();
}

test("the graph shows the edges of the history", () => {
  fc.assert(
    fc.property(histories, (commits) => {
      const ids = new Set(commits.map(({ id }) => id));
      const edges = commits.flatMap(({ id, parents }) => parents.filter((parent) => ids.has(parent)).map((parent) => `${id}-${parent}`));
      expect(shownEdges(commits, layOut(commits))).toEqual(edges.sort());
    }),
  );
});

test("lines continue from row to row", () => {
  fc.assert(
    fc.property(histories, (commits) => {
      let above = new Set<number>();
      for (const row of layOut(commits)) {
        const began = row.lines.filter(({ part }) => part !== "out").map(({ from }) => from);
        expect(new Set(began)).toEqual(above);
        above = new Set(row.lines.filter(({ part }) => part !== "in").map(({ to }) => to));
      }
    }),
  );
});

test("nothing passes through a commit, and lines into and out of it meet it", () => {
  fc.assert(
    fc.property(histories, (commits) => {
      for (const { lane, lines, width } of layOut(commits)) {
        const wrong = lines.filter(({ from, to, part }) => {
          const isMet = part === "past" ? from === to && from !== lane : (part === "in" ? to : from) === lane;
          return !isMet || Math.max(from, to, lane) >= width;
        });
        expect(wrong).toEqual([]);
      }
    }),
  );
});

test("each commit takes the first lane that is free or leads to it", () => {
  fc.assert(
    fc.property(histories, (commits) => {
      let above: number[] = [];
      for (const { lane, lines } of layOut(commits)) {
        const into = lines.find(({ part }) => part === "in");
        if (!into) expect(Array.from({ length: lane }, (_, other) => other).filter((other) => !above.includes(other))).toEqual([]);
        else expect(lane).toBe(into.from);
        above = lines.filter(({ part }) => part !== "in").map(({ to }) => to);
      }
    }),
  );
});

test("a line of commits needs one lane, and a merge two", () => {
  const line = layOut([
    { id: "c", parents: ["b"] },
    { id: "b", parents: ["a"] },
    { id: "a", parents: [] },
  ]);
  expect(line.map(({ lane, width }) => [lane, width])).toEqual([[0, 1], [0, 1], [0, 1]]);
  const merge = layOut([
    { id: "m", parents: ["b", "s"] },
    { id: "s", parents: ["a"] },
    { id: "b", parents: ["a"] },
    { id: "a", parents: [] },
  ]);
  expect(merge.map(({ lane }) => lane)).toEqual([0, 1, 0, 1]);
  expect(merge.map(({ width }) => width)).toEqual([2, 2, 2, 2]);
});
