// What a page shows from the server: loading, loaded or failed, loaded again when what it depends on
// changes. A newer load aborts an older one, so that a late response never replaces a newer one.

import { type ApiError, isAbort, toApiError } from "./error";

/** The state of something that is loaded. */
export class Resource<T> {
  data = $state.raw<T | undefined>(undefined);
  error = $state.raw<ApiError | undefined>(undefined);
  loading = $state(false);
  #load: (signal: AbortSignal) => Promise<T>;
  #running: AbortController | undefined;

  constructor(load: (signal: AbortSignal) => Promise<T>) {
    this.#load = load;
  }

  /** Loads again; what is shown stays until the response arrives. */
  async reload(): Promise<void> {
    this.abort();
    const running = new AbortController();
    this.#running = running;
    try {
      const promise = this.#load(running.signal); // reads what it depends on before anything changes
      this.loading = true;
      const data = await promise;
      if (this.#running !== running) return;
      this.data = data;
      this.error = undefined;
    } catch (error) {
      if (this.#running !== running || isAbort(error)) return;
      this.data = undefined;
      this.error = toApiError(error);
    }
    this.loading = false;
  }

  /** Ends a running load. */
  abort(): void {
    this.#running?.abort();
    this.#running = undefined;
  }
}

/** Returns a resource that is loaded now, and again whenever state that `load` reads before its first
 * `await` changes. For use while a component is initialised. */
export function resource<T>(load: (signal: AbortSignal) => Promise<T>): Resource<T> {
  const loaded = new Resource(load);
  $effect(() => {
    void loaded.reload();
    return () => loaded.abort();
  });
  return loaded;
}
