// The rows of a tree of changes. A folder's changes are loaded page by page, when its rows come into
// sight; only what is loaded is kept.

import { type ApiError, isAbort, toApiError } from "$/api/error";
import type { Diff, Page } from "$/api/types";

/** Returns a page of the changes below a prefix; with a delimiter, folders take the place of theirs. */
export type LoadChanges = (
  prefix: string,
  delimiter: string,
  after: string,
  amount: number,
  signal: AbortSignal,
) => Promise<Page<Diff>>;

/** A row: a change or a folder of changes, or the end of a folder of which more is to be loaded. */
export interface ChangeRow {
  level: number;
  change?: Diff;
  folder: Folder;
  /** The folder that the row itself opens. */
  opens?: Folder;
}

/** A folder and what is loaded of it. */
interface Folder {
  prefix: string;
  level: number;
  open: boolean;
  changes: Diff[];
  folders: Map<string, Folder>;
  after: string;
  ended: boolean;
  running: boolean;
}

const FIRST_PAGE = 200; // is there soon
const PAGE = 1000;

function newFolder(prefix: string, level: number): Folder {
  return { prefix, level, open: false, changes: [], folders: new Map(), after: "", ended: false, running: false };
}

/** The rows in sight of a tree, or of a flat list without a delimiter. */
export class ChangeRows {
  rows = $state.raw<readonly ChangeRow[]>([]);
  /** Whether everything that is open is loaded. */
  complete = $state(false);
  loading = $state(false);
  error = $state.raw<ApiError | undefined>(undefined);
  #load: LoadChanges;
  #delimiter = "/";
  #top = newFolder("", 1);
  #abort = new AbortController();
  #running = 0;

  constructor(load: LoadChanges) {
    this.#load = load;
  }

  /** Begins again, as a tree or flat, below a prefix. What is shown stays until the first page arrives. */
  restart(flat: boolean, prefix: string): void {
    this.stop();
    this.#abort = new AbortController();
    this.#delimiter = flat ? "" : "/";
    this.#top = newFolder(prefix, 1);
    this.#running = 0;
    this.error = undefined;
    void this.#more(this.#top);
  }

  /** Opens or closes the folder of a row. */
  toggle(index: number, open: boolean): void {
    const folder = this.rows[index]?.opens;
    if (!folder) return;
    folder.open = open;
    this.#flatten();
    if (open && !folder.after && !folder.ended) void this.#more(folder);
  }

  /** Loads what is missing among the rows in sight. */
  want(first: number, last: number): void {
    if (this.error) return;
    for (const row of this.rows.slice(first, last + 1)) {
      if (!row.change) void this.#more(row.folder);
    }
  }

  /** Tries again after an error. */
  retry(): void {
    this.error = undefined;
    for (const row of this.rows) if (!row.change) void this.#more(row.folder);
    if (!this.rows.length) void this.#more(this.#top);
  }

  /** Ends running loads. */
  stop(): void {
    this.#abort.abort();
  }

  async #more(folder: Folder): Promise<void> {
    if (folder.running || folder.ended) return;
    const { signal } = this.#abort;
    folder.running = true;
    this.#running += 1;
    this.loading = true;
    try {
      const amount = folder.after ? PAGE : FIRST_PAGE;
      const page = await this.#load(folder.prefix, this.#delimiter, folder.after, amount, signal);
      if (signal.aborted) return;
      folder.changes.push(...page.results);
      folder.after = page.pagination.next_offset;
      folder.ended = !page.pagination.has_more;
      this.#flatten();
    } catch (error) {
      if (signal.aborted || isAbort(error)) return;
      this.error = toApiError(error);
    }
    folder.running = false;
    this.#running -= 1;
    this.loading = this.#running > 0;
  }

  #flatten(): void {
    const rows: ChangeRow[] = [];
    this.#collect(this.#top, rows);
    this.rows = rows;
    this.complete = !rows.some((row) => !row.change);
  }

  #collect(folder: Folder, rows: ChangeRow[]): void {
    for (const change of folder.changes) {
      if (change.path_type !== "common_prefix") {
        rows.push({ level: folder.level, change, folder });
        continue;
      }
      let opens = folder.folders.get(change.path);
      if (!opens) folder.folders.set(change.path, (opens = newFolder(change.path, folder.level + 1)));
      rows.push({ level: folder.level, change, folder, opens });
      if (opens.open) this.#collect(opens, rows);
    }
    if (!folder.ended) rows.push({ level: folder.level, folder });
  }
}
