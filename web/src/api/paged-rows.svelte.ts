// A long listing by row number: pages are loaded as rows are looked at, and forgotten far from there, so
// that a million rows need the memory of some ten thousand.

import { type ApiError, isAbort, toApiError } from "./error";
import type { Page } from "./types";

const FIRST_PAGE_ROWS = 200; // is there soon
const PAGE_ROWS = 1000;
const LOOK_AHEAD_ROWS = 1500;
const MAX_PAGES_KEPT = 40;

/** Returns what follows `after`, at most `amount` rows. */
export type LoadRows<T> = (after: string, amount: number, signal: AbortSignal) => Promise<Page<T>>;

interface LoadedPage<T> {
  after: string;
  start: number;
  length: number;
  rows: readonly T[] | undefined;
  loading: boolean;
}

/** Rows of a listing. What is shown must read `version`, which changes whenever rows arrive. */
export class PagedRows<T> {
  /** How many rows are known; more may follow unless `complete`. */
  count = $state(0);
  complete = $state(false);
  loading = $state(true);
  version = $state(0);
  error = $state.raw<ApiError | undefined>(undefined);
  #load: LoadRows<T>;
  #pages: LoadedPage<T>[] = [];
  #next = "";
  #running = false;
  #known = 0;
  #ended = false;
  #fresh = true; // the next page is the first
  #wanted = 0;
  #abort = new AbortController();

  constructor(load: LoadRows<T>) {
    this.#load = load;
  }

  /** Returns a row, if it is loaded. */
  row(index: number): T | undefined {
    const page = this.#pageOf(index);
    return page?.rows?.[index - page.start];
  }

  /** Loads the rows from `first` up to `last`, and some that follow. */
  want(first: number, last: number): void {
    this.#wanted = last;
    const from = this.#pages.indexOf(this.#pageOf(first)!);
    if (from >= 0) {
      for (const page of this.#pages.slice(from)) {
        if (page.start > last) break;
        if (!page.rows && !page.loading) void this.#reload(page);
      }
    }
    if (last + LOOK_AHEAD_ROWS >= this.#known) void this.#append();
    this.#forget(first);
  }

  /** Begins again; what is shown stays until the first page arrives. */
  restart(): void {
    this.stop();
    this.#abort = new AbortController();
    this.#next = "";
    this.#running = false;
    this.#ended = false;
    this.#fresh = true;
    void this.#append();
  }

  /** Tries again after an error. */
  retry(): void {
    this.error = undefined;
    void this.#append();
  }

  /** Ends running loads. */
  stop(): void {
    this.#abort.abort();
  }

  #pageOf(index: number): LoadedPage<T> | undefined {
    let low = 0;
    let high = this.#pages.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      const page = this.#pages[middle]!;
      if (index < page.start) high = middle;
      else if (index >= page.start + page.length) low = middle + 1;
      else return page;
    }
    return undefined;
  }

  async #append(): Promise<void> {
    if (this.#running || this.#ended) return;
    this.#running = this.loading = true;
    const { signal } = this.#abort;
    const after = this.#next;
    const amount = this.#fresh && this.#wanted < FIRST_PAGE_ROWS ? FIRST_PAGE_ROWS : PAGE_ROWS;
    try {
      const { results, pagination } = await this.#load(after, amount, signal);
      if (signal.aborted) return;
      if (this.#fresh) {
        this.#pages = [];
        this.#known = 0;
        this.#fresh = false;
      }
      const page = { after, start: this.#known, length: results.length, rows: results, loading: false };
      if (results.length) this.#pages.push(page);
      this.#known += results.length;
      this.#ended = !pagination.has_more;
      this.#next = pagination.next_offset;
      this.count = this.#known;
      this.complete = this.#ended;
      this.error = undefined;
      this.#arrived();
    } catch (error) {
      if (signal.aborted || isAbort(error)) return;
      this.error = toApiError(error);
      this.#running = this.loading = false;
      return;
    }
    this.#running = this.loading = false;
    if (this.#wanted + LOOK_AHEAD_ROWS >= this.#known) void this.#append();
  }

  async #reload(page: LoadedPage<T>): Promise<void> {
    page.loading = true;
    const { signal } = this.#abort;
    try {
      const { results } = await this.#load(page.after, page.length, signal);
      if (signal.aborted) return;
      page.rows = results;
      this.#arrived();
    } catch (error) {
      if (!signal.aborted && !isAbort(error)) this.error = toApiError(error);
    }
    page.loading = false;
  }

  #forget(index: number): void {
    const kept = this.#pages.filter((page) => page.rows);
    if (kept.length <= MAX_PAGES_KEPT) return;
    const distance = (page: LoadedPage<T>) => Math.abs(page.start - index);
    kept.sort((one, other) => distance(other) - distance(one));
    for (const page of kept.slice(0, kept.length - MAX_PAGES_KEPT)) page.rows = undefined;
  }

  #arrived(): void {
    this.version += 1; // never within an effect: an `await` came before
  }
}
