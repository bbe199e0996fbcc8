// The tasks of this tab: those that a dialog shows, and those that the user has left. The tab's storage
// keeps what names them, so that their outcome is shown after the page was loaded again.

import { notices } from "$/components/notices.svelte";
import { session } from "$/session.svelte";
import type { TaskDescription } from "./status";
import { Task } from "./task.svelte";
import { outcomeOf } from "./words";

const STORED = "tasks";

function stored(): TaskDescription[] {
  try {
    const found: unknown = JSON.parse(sessionStorage.getItem(STORED) ?? "[]");
    return Array.isArray(found) ? (found as TaskDescription[]) : [];
  } catch {
    return []; // of another version, or without storage
  }
}

class Tasks {
  items = $state.raw<readonly Task[]>([]);
  /** How many left tasks have ended, for pages that then show what is new. */
  ended = $state(0);
  /** The tasks at the foot of the page: never those of somebody else who used the tab. */
  left = $derived(this.items.filter((task) => !task.watched && task.description.user === session.user?.id));

  constructor() {
    for (const description of stored()) void this.#follow(new Task(description));
  }

  /** Shows a task that was started until it has ended; returns false once the user has left it.
   * Throws its error. */
  async watch(started: Omit<TaskDescription, "user" | "startedAt">, show: (task: Task) => void): Promise<Task | undefined> {
    const task = new Task({ ...started, user: session.user?.id ?? "", startedAt: Date.now() });
    task.watched = true;
    const following = this.#follow(task);
    show(task);
    try {
      return (await task.watch(following)) ? task : undefined;
    } finally {
      // eslint-disable-next-line @typescript-eslint/no-unnecessary-condition -- the user may have left it meanwhile
      if (task.watched) this.dismiss(task);
    }
  }

  /** Forgets a task. */
  dismiss(task: Task): void {
    this.items = this.items.filter((item) => item !== task);
    this.#store();
  }

  async #follow(task: Task): Promise<void> {
    this.items = [...this.items, task];
    this.#store();
    await task.follow();
    if (task.watched) return;
    this.ended += 1;
    notices.announce(outcomeOf(task));
  }

  #store(): void {
    try {
      sessionStorage.setItem(STORED, JSON.stringify(this.items.map(({ description }) => description)));
    } catch {
      // without storage, tasks are known until the page is loaded again
    }
  }
}

/** The tasks of this tab. */
export const tasks = new Tasks();
