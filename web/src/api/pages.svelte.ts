// Listings that arrive page by page, each asked for by where the one before it ended.

import { untrack } from "svelte";
import { keepPlace, placeOf } from "$/router/places";
import { type ApiError, isAbort, toApiError } from "./error";
import type { Page } from "./types";

/** Returns one page: what follows `after`. */
export type LoadPage<T> = (after: string, signal: AbortSignal) => Promise<Page<T>>;

/** A listing of which more is loaded on demand; all that was loaded is kept. */
export class Listing<T> {
  rows = $state.raw<readonly T[]>([]);
  hasMore = $state(true);
  loading = $state(false);
  error = $state.raw<ApiError | undefined>(undefined);
  #load: LoadPage<T>;
  #after = "";
  #running = false; // beside the state, which an effect that loads must not depend on
  #ended = false;
  #abort = new AbortController();

  constructor(load: LoadPage<T>) {
    this.#load = load;
  }

  /** Loads the next page, unless one is being loaded or there is none. */
  async more(): Promise<void> {
    if (this.#running || this.#ended) return;
    const { signal } = this.#abort;
    this.#running = this.loading = true;
    this.error = undefined;
    try {
      const page = await this.#load(this.#after, signal);
      if (signal.aborted) return;
      // the rows of a former listing stay until the first of the new one arrive
      this.rows = this.#after ? [...this.rows, ...page.results] : page.results;
      this.hasMore = page.pagination.has_more;
      this.#ended = !this.hasMore;
      this.#after = page.pagination.next_offset;
    } catch (error) {
      if (signal.aborted || isAbort(error)) return;
      this.error = toApiError(error);
    }
    this.#running = this.loading = false;
  }

  /** Begins again with the first page. */
  async restart(): Promise<void> {
    this.stop();
    this.#abort = new AbortController();
    this.#after = "";
    this.#ended = false;
    this.hasMore = true;
    this.#running = false;
    await this.more();
  }

  /** Ends a running load. */
  stop(): void {
    this.#abort.abort();
  }
}

/** Has a listing load as much as it had when one left the page, by its name there. For use while a component
 * is initialised. */
export function keepLength<T>(name: string, listing: Listing<T>): void {
  const place = `length of ${name}`;
  let wanted = placeOf<number>(place) ?? 0;
  $effect(() => {
    const length = listing.rows.length;
    if (listing.loading || listing.error) return;
    if (length < wanted && listing.hasMore && length) {
      untrack(() => void listing.more());
      return;
    }
    if (!length) return;
    wanted = 0;
    if (length !== placeOf<number>(place)) keepPlace(place, length);
  });
}

/** Returns a listing whose first page is loaded now, and again whenever state that `load` reads before
 * its first `await` changes. For use while a component is initialised. */
export function listing<T>(load: LoadPage<T>): Listing<T> {
  const loaded = new Listing(load);
  $effect(() => {
    void loaded.restart();
    return () => loaded.stop();
  });
  return loaded;
}
