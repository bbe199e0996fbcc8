// A commit, merge or import that the server performs in the background. It goes on whatever the page
// does; the page asks how far it is, also after the server was away.

import { ApiError, toApiError } from "$/api/error";
import { type TaskDescription, cancelTask, taskStatus } from "./status";

const FIRST_PAUSE_MS = 100;
const MAX_PAUSE_MS = 2000;

/** `unknown` is a task that the server does not know any more. */
export type TaskState = "running" | "done" | "failed" | "unknown";

/** A task, and what is known of it. */
export class Task {
  readonly description: TaskDescription;
  state = $state.raw<TaskState>("running");
  /** The commit of a task that is done. */
  commitId = $state("");
  error = $state.raw<ApiError | undefined>(undefined);
  /** How many objects an import has found. */
  objects = $state(0);
  /** Whether the server does not respond. */
  unreachable = $state(false);
  /** Whether a dialog shows the task; otherwise the list at the foot of the page does. */
  watched = $state(false);
  /** Whether the user has cancelled it, although the server may not have responded to that yet. */
  cancelled = $state(false);
  #leave: () => void = () => undefined;

  constructor(description: TaskDescription) {
    this.description = description;
  }

  /** Waits until the task has ended. Never throws: the state tells. */
  async follow(): Promise<void> {
    for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(1.5 * pause, MAX_PAUSE_MS)) {
      try {
        const status = await taskStatus(this.description);
        this.unreachable = false;
        this.objects = status.objects;
        if (status.error) {
          this.#end("failed", status.error);
          return;
        }
        if (status.completed) {
          this.commitId = status.commitId;
          this.#end("done");
          return;
        }
      } catch (thrown) {
        const error = toApiError(thrown);
        if (!error.mayPass && !error.isSignedOut) {
          this.#end("unknown", error);
          return;
        }
        this.unreachable = !error.isSignedOut;
      }
      await new Promise((resolve) => setTimeout(resolve, pause));
    }
  }

  /** Returns whether a watched task has ended: false once the user has left it. Throws its error. */
  async watch(following: Promise<void>): Promise<boolean> {
    const left = new Promise<void>((resolve) => (this.#leave = resolve));
    if (this.watched) await Promise.race([following, left]);
    if (!this.watched) return false;
    if (this.error) throw this.error;
    return true;
  }

  /** Has the list at the foot of the page show the task. */
  leave(): void {
    this.watched = false;
    this.#leave();
  }

  /** Asks the server to stop an import. Throws ApiError. */
  async cancel(): Promise<void> {
    this.cancelled = true;
    try {
      await cancelTask(this.description);
    } catch (error) {
      this.cancelled = false;
      throw error;
    }
  }

  #end(state: TaskState, error?: ApiError): void {
    this.error = error;
    this.state = state;
  }
}
