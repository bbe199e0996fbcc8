// Which objects and folders of a listing are selected.

import { SvelteSet } from "svelte/reactivity";

/** How many can be selected: what is more is a folder, which can be deleted or moved as one. */
export const MAX_SELECTED = 1000;

/** The selected paths of the listing that is shown; those of folders end in a slash. */
export class Selection {
  readonly paths = new SvelteSet<string>();
  #anchor: string | undefined;

  /** Selects a path, or no longer. */
  toggle(path: string): void {
    this.#anchor = path;
    if (this.paths.delete(path) || this.paths.size >= MAX_SELECTED) return;
    this.paths.add(path);
  }

  /** Selects all from the path that was chosen last up to another; only that one if none was chosen, or if
   * not all between them are there. `pathAt` returns the path of a row, undefined for one that is not loaded. */
  extend(path: string, index: number, pathAt: (index: number) => string | undefined): void {
    const between: string[] = [];
    for (const step of [-1, 1]) {
      between.length = 0;
      for (let row = index; between.length < MAX_SELECTED; row += step) {
        const at = pathAt(row);
        if (at === undefined) break;
        between.push(at);
        if (at !== this.#anchor) continue;
        this.select(between);
        this.#anchor = path;
        return;
      }
    }
    this.toggle(path);
  }

  /** Selects all of these besides, as many as there may be. */
  select(paths: Iterable<string>): void {
    for (const path of paths) if (this.paths.size < MAX_SELECTED) this.paths.add(path);
  }

  /** Selects nothing. */
  clear(): void {
    this.#anchor = undefined;
    this.paths.clear();
  }
}
