// Differences between two texts, line by line: Myers' algorithm ("An O(ND) difference algorithm and its
// variations", 1986), after what both texts begin and end with.

/** A line of one side. */
export interface Line {
  number: number;
  text: string;
}

/** A row of two texts side by side. */
export interface LinePair {
  kind: "same" | "changed" | "added" | "removed";
  left?: Line;
  right?: Line;
}

/** From how many differing lines on the middle of two texts counts as replaced as a whole: the work
 * grows with the square. */
const MAX_EDITS = 1000;

type Edit = [kept: boolean, left: number, right: number];

/** Returns two texts side by side. */
export function diffLines(left: string, right: string): LinePair[] {
  return pairUp(toLines(left), toLines(right));
}

/** Returns the lines of a text; a last line feed ends the last line and begins none. */
function toLines(text: string): string[] {
  const lines = text.split("\n");
  if (lines.at(-1) === "") lines.pop();
  return lines;
}

function pairUp(left: string[], right: string[]): LinePair[] {
  let start = 0;
  while (start < left.length && start < right.length && left[start] === right[start]) start += 1;
  let end = 0;
  while (
    end < left.length - start &&
    end < right.length - start &&
    left[left.length - 1 - end] === right[right.length - 1 - end]
  ) {
    end += 1;
  }
  const pairs: LinePair[] = [];
  const same = (l: number, r: number) =>
    pairs.push({ kind: "same", left: { number: l + 1, text: left[l]! }, right: { number: r + 1, text: right[r]! } });
  for (let index = 0; index < start; index += 1) same(index, index);
  let [removed, added]: [number[], number[]] = [[], []];
  const flush = () => {
    for (let index = 0; index < Math.max(removed.length, added.length); index += 1) {
      const [l, r] = [removed[index], added[index]];
      pairs.push({
        kind: l === undefined ? "added" : r === undefined ? "removed" : "changed",
        ...(l !== undefined && { left: { number: l + 1, text: left[l]! } }),
        ...(r !== undefined && { right: { number: r + 1, text: right[r]! } }),
      });
    }
    [removed, added] = [[], []];
  };
  for (const [kept, l, r] of edits(left.slice(start, left.length - end), right.slice(start, right.length - end))) {
    if (kept) {
      flush();
      same(start + l, start + r);
    } else if (l >= 0) removed.push(start + l);
    else added.push(start + r);
  }
  flush();
  for (let index = end; index > 0; index -= 1) same(left.length - index, right.length - index);
  return pairs;
}

/** Returns the shortest script of edits: lines that are kept, removed (right -1) or added (left -1). */
function edits(left: string[], right: string[]): Edit[] {
  const trace = search(left, right);
  if (!trace) {
    return [
      ...left.map((_, index): Edit => [false, index, -1]),
      ...right.map((_, index): Edit => [false, -1, index]),
    ];
  }
  const script: Edit[] = [];
  let [x, y] = [left.length, right.length];
  for (let d = trace.length - 1; d >= 0; d -= 1) {
    const reached = (k: number) => trace[d]![k + d + 1]!;
    const k = x - y;
    const before = goesDown(k, d, reached) ? k + 1 : k - 1;
    const beforeX = reached(before);
    const beforeY = beforeX - before;
    while (x > beforeX && y > beforeY) script.push([true, (x -= 1), (y -= 1)]);
    if (d === 0) break;
    script.push(x === beforeX ? [false, -1, y - 1] : [false, x - 1, -1]);
    [x, y] = [beforeX, beforeY];
  }
  return script.reverse();
}

/** Whether the furthest path on a diagonal comes from the one above, by adding a line. */
function goesDown(k: number, d: number, reached: (k: number) => number): boolean {
  return k === -d || (k !== d && reached(k - 1) < reached(k + 1));
}

/** Returns how far each diagonal was reached before each step (from -step - 1 on), or undefined if there
 * are too many edits. */
function search(left: string[], right: string[]): Int32Array[] | undefined {
  const most = Math.min(left.length + right.length, MAX_EDITS);
  const furthest = new Int32Array(2 * most + 3);
  const reached = (k: number) => furthest[k + most + 1]!;
  const trace: Int32Array[] = [];
  for (let d = 0; d <= most; d += 1) {
    trace.push(furthest.slice(most - d, most + d + 3));
    for (let k = -d; k <= d; k += 2) {
      let x = goesDown(k, d, reached) ? reached(k + 1) : reached(k - 1) + 1;
      while (x < left.length && x - k < right.length && left[x] === right[x - k]) x += 1;
      furthest[k + most + 1] = x;
      if (x >= left.length && x - k >= right.length) return trace;
    }
  }
  return undefined;
}
