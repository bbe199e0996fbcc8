// The command palette: what can be gone to or done, from the shell and from the page that is shown.

import { untrack } from "svelte";
import type { IconName } from "$/components/Icon.svelte";

/** Something to go to or to do. */
export interface Command {
  label: string;
  icon?: IconName;
  /** Keys that do it without the palette, such as `g d`. */
  keys?: string;
  href?: string;
  run?: () => void;
  /** Why the server would refuse it: then it is not offered. */
  refusal?: string;
}

class Palette {
  open = $state(false);
  #pages = $state.raw<readonly (() => Command[])[]>([]);
  /** The commands of the pages that are shown. */
  commands = $derived(this.#pages.flatMap((commands) => commands()).filter(({ refusal }) => !refusal));

  show(): void {
    this.open = true;
  }

  hide(): void {
    this.open = false;
  }

  add(commands: () => Command[]): () => void {
    this.#pages = [...this.#pages, commands];
    return () => {
      this.#pages = this.#pages.filter((other) => other !== commands);
    };
  }
}

/** The palette of the application. */
export const palette = new Palette();

/** Offers commands while a component is shown. For use while it is initialised. */
export function offerCommands(commands: () => Command[]): void {
  $effect.pre(() => untrack(() => palette.add(commands)));
}
