// The lanes of a history's graph. Each row has a commit on its lane and the lines that pass it by: from
// the lanes above to those below.

/** What the graph needs of a commit. */
export interface GraphCommit {
  id: string;
  parents: readonly string[];
}

/** A line in a row: from a lane above, or from the commit, to a lane below, or to the commit. */
export interface Line {
  from: number;
  to: number;
  /** Where it ends and begins: passing by, into the commit, or out of it. */
  part: "past" | "in" | "out";
  /** The lane that gives it its colour. */
  colour: number;
}

/** A row of the graph. */
export interface GraphRow {
  lane: number;
  lines: Line[];
  /** How many lanes the row needs. */
  width: number;
}

/** Returns the rows of commits in an order in which parents follow their children. */
export function layOut(commits: readonly GraphCommit[]): GraphRow[] {
  let lanes: (string | undefined)[] = []; // the commit that each lane leads to
  return commits.map((commit) => {
    const above = lanes;
    const below = above.map((id) => (id === commit.id ? undefined : id));
    const awaited = above.indexOf(commit.id);
    const lane = awaited >= 0 ? awaited : freeLane(below);
    const lines: Line[] = [];
    for (const [from, id] of above.entries()) {
      if (id === commit.id) lines.push({ from, to: lane, part: "in", colour: from });
      else if (id !== undefined) lines.push({ from, to: from, part: "past", colour: from });
    }
    for (const [index, parent] of commit.parents.entries()) {
      const known = below.indexOf(parent);
      const to = known >= 0 ? known : index === 0 || below[lane] === undefined ? lane : freeLane(below);
      if (known < 0) below[to] = parent;
      lines.push({ from: lane, to, part: "out", colour: to });
    }
    lanes = trimmed(below);
    return { lane, lines, width: Math.max(above.length, lanes.length, lane + 1) };
  });
}

function freeLane(lanes: readonly (string | undefined)[]): number {
  const free = lanes.indexOf(undefined);
  return free >= 0 ? free : lanes.length;
}

function trimmed(lanes: (string | undefined)[]): (string | undefined)[] {
  let length = lanes.length;
  while (length > 0 && lanes[length - 1] === undefined) length -= 1;
  return lanes.slice(0, length);
}
