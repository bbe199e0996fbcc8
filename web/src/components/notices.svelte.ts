// Short messages about what happened. They are shown for a while and read out by screen readers.

import { untrack } from "svelte";

export interface Notice {
  id: number;
  text: string;
  kind: "success" | "error";
}

const SHOWN_MS = 6000;

class Notices {
  list = $state.raw<readonly Notice[]>([]);
  /** What screen readers say that is not shown, such as the number of results. */
  announced = $state("");
  #last = 0;

  /** Shows a message. */
  show(text: string, kind: Notice["kind"] = "success"): void {
    const notice = { id: ++this.#last, text, kind };
    this.list = [...untrack(() => this.list).slice(-2), notice];
    setTimeout(() => this.dismiss(notice.id), kind === "error" ? 2 * SHOWN_MS : SHOWN_MS);
  }

  /** Removes a message. */
  dismiss(id: number): void {
    this.list = this.list.filter((notice) => notice.id !== id);
  }

  /** Has screen readers say something. */
  announce(text: string): void {
    this.announced = text;
  }
}

/** The messages of the application. */
export const notices = new Notices();
