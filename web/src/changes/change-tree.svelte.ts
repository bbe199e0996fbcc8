// Differences as a tree of folders with counts and sizes, built while the pages of a listing arrive.

import { type ApiError, isAbort, toApiError } from "$/api/error";
import type { Diff, Page } from "$/api/types";
import { keepPlace, placeOf } from "$/router/places";

export type ChangeKind = "added" | "changed" | "removed" | "conflict";

/** How many differences of each kind there are below a folder. */
export type ChangeCounts = Record<ChangeKind, number>;

/** A folder with differences below it, or one difference. */
export interface ChangeNode {
  /** What is shown: a folder with only one other in it stands in one line with that. */
  name: string;
  path: string;
  change: Diff | undefined;
  counts: ChangeCounts;
  /** The sum of the sizes on the right side, in bytes. */
  bytes: number;
  children: Map<string, ChangeNode>;
  /** What the user chose; otherwise small folders are open. */
  open: boolean | undefined;
}

/** A line of the tree. */
export interface ChangeRow {
  node: ChangeNode;
  name: string;
  level: number;
  open: boolean | undefined;
}

/** Returns what follows `after`, at most `amount` differences in the order of their paths. */
export type LoadChanges = (after: string, amount: number, signal: AbortSignal) => Promise<Page<Diff>>;

const PAGE_ROWS = 1000;
const MAX_ROWS = 200_000;
const MAX_OPEN_BY_ITSELF = 50;
const PLACE = "folders";
const MAX_FOLDERS_KEPT = 1000;

/** What the user chose: for all folders, and afterwards for some by their paths. */
interface Folders {
  all?: boolean;
  paths: Record<string, boolean>;
}

/** The differences of a listing, as a tree. */
export class ChangeTree {
  loading = $state(true);
  /** Whether all differences are in the tree. */
  complete = $state(false);
  error = $state.raw<ApiError | undefined>(undefined);
  #version = $state(0);
  #root = folder("", "");
  #load: LoadChanges;
  #after = "";
  #abort = new AbortController();
  #folders: Folders = placeOf<Folders>(PLACE) ?? { paths: {} };

  /** The lines that are shown. */
  rows: readonly ChangeRow[] = $derived.by(() => {
    void this.#version;
    const rows: ChangeRow[] = [];
    flatten(this.#root, 1, rows);
    return rows;
  });
  counts: ChangeCounts = $derived.by(() => {
    void this.#version;
    return { ...this.#root.counts };
  });
  total = $derived(sum(this.counts));
  bytes = $derived.by(() => {
    void this.#version;
    return this.#root.bytes;
  });

  constructor(load: LoadChanges) {
    this.#load = load;
  }

  /** Loads everything, up to a limit; called again, what follows. */
  async start(): Promise<void> {
    const { signal } = this.#abort;
    this.loading = true;
    this.error = undefined;
    let loaded = 0;
    try {
      while (loaded < MAX_ROWS) {
        const page = await this.#load(this.#after, PAGE_ROWS, signal);
        if (signal.aborted) return;
        for (const change of page.results) insert(this.#root, change, this.#folders);
        loaded += page.results.length;
        this.#after = page.pagination.next_offset;
        this.complete = !page.pagination.has_more;
        this.#version += 1;
        if (this.complete) break;
      }
    } catch (error) {
      if (signal.aborted || isAbort(error)) return;
      this.error = toApiError(error);
    }
    this.loading = false;
  }

  /** Returns the kind of a path's difference, undefined if it is not among those that are loaded. */
  kindAt(path: string): ChangeKind | undefined {
    void this.#version;
    const names = path.split("/");
    const last = names.pop()!;
    let node: ChangeNode | undefined = this.#root;
    for (const name of names) node = node?.children.get(`${name}/`);
    return node?.children.get(last)?.change?.type as ChangeKind | undefined;
  }

  /** Opens or closes a folder. */
  toggle(row: ChangeRow, open: boolean): void {
    row.node.open = open;
    this.#version += 1;
    const paths = { ...this.#folders.paths, [row.node.path]: open };
    if (Object.keys(paths).length <= MAX_FOLDERS_KEPT) this.#keep({ ...this.#folders, paths });
  }

  /** Opens or closes all folders. */
  toggleAll(open: boolean): void {
    const visit = (node: ChangeNode) => {
      if (node.change) return;
      node.open = open;
      for (const child of node.children.values()) visit(child);
    };
    for (const child of this.#root.children.values()) visit(child);
    this.#version += 1;
    this.#keep({ all: open, paths: {} });
  }

  #keep(folders: Folders): void {
    this.#folders = folders;
    keepPlace(PLACE, folders);
  }

  /** Ends loading. */
  stop(): void {
    this.#abort.abort();
  }
}

/** Returns the number of differences of all kinds. */
export function sum(counts: ChangeCounts): number {
  return counts.added + counts.changed + counts.removed + counts.conflict;
}

function folder(name: string, path: string): ChangeNode {
  const counts = { added: 0, changed: 0, removed: 0, conflict: 0 };
  return { name, path, change: undefined, counts, bytes: 0, children: new Map(), open: undefined };
}

function insert(root: ChangeNode, change: Diff, { all, paths }: Folders): void {
  const kind = change.type as ChangeKind;
  const bytes = change.size_bytes ?? 0;
  const names = change.path.split("/");
  const last = names.pop()!;
  let node = root;
  count(node, kind, bytes);
  for (const name of names) {
    const key = `${name}/`;
    let child = node.children.get(key);
    if (!child) {
      child = folder(key, node.path + key);
      child.open = Object.hasOwn(paths, child.path) ? paths[child.path] : all;
      node.children.set(key, child);
    }
    node = child;
    count(node, kind, bytes);
  }
  const leaf = folder(last || "(folder marker)", change.path);
  leaf.change = change;
  count(leaf, kind, bytes);
  node.children.set(last, leaf);
}

function count(node: ChangeNode, kind: ChangeKind, bytes: number): void {
  node.counts[kind] += 1;
  if (kind !== "removed") node.bytes += bytes;
}

function flatten(parent: ChangeNode, level: number, rows: ChangeRow[]): void {
  for (const child of parent.children.values()) {
    if (child.change) {
      rows.push({ node: child, name: child.name, level, open: undefined });
      continue;
    }
    const { node, name } = joined(child);
    const open = node.open ?? sum(node.counts) <= MAX_OPEN_BY_ITSELF;
    rows.push({ node, name, level, open });
    if (open) flatten(node, level + 1, rows);
  }
}

/** Returns the deepest folder that a chain of folders with nothing else leads to. */
function joined(node: ChangeNode): { node: ChangeNode; name: string } {
  let name = node.name;
  let deepest = node;
  while (deepest.children.size === 1) {
    const [only] = deepest.children.values();
    if (!only || only.change) break;
    deepest = only;
    name += only.name;
  }
  return { node: deepest, name };
}
