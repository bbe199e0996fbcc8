// The uploads of this page: they go on while other pages of the application are shown.

import { type ApiError, toApiError } from "$/api/error";
import { session } from "$/session.svelte";
import { uploadFile } from "./upload-file";

const PARALLEL_FILES = 3;

export type UploadState = "waiting" | "running" | "retrying" | "done" | "failed" | "cancelled";

/** The upload of one file. */
export class Upload {
  readonly file: File;
  readonly repository: string;
  readonly branch: string;
  readonly path: string;
  state = $state<UploadState>("waiting");
  sent = $state(0);
  error = $state.raw<ApiError | undefined>(undefined);
  #abort = new AbortController();

  constructor(file: File, repository: string, branch: string, path: string) {
    this.file = file;
    this.repository = repository;
    this.branch = branch;
    this.path = path;
  }

  get isPending(): boolean {
    return this.state === "waiting" || this.state === "running" || this.state === "retrying";
  }

  /** Uploads the file. Never throws: the state tells. */
  async run(): Promise<void> {
    if (this.state !== "waiting") return;
    this.state = "running";
    const watch = {
      signal: this.#abort.signal,
      progress: (sent: number) => {
        this.sent = sent;
      },
      waiting: (error: Error | undefined) => {
        this.state = error ? "retrying" : "running";
        this.error = error ? toApiError(error) : undefined;
      },
    };
    const inParts = session.config?.storage_config.pre_sign_multipart_upload === true;
    try {
      await uploadFile(this.file, this, watch, inParts);
      this.sent = this.file.size;
      this.state = "done";
    } catch (error) {
      if (this.#abort.signal.aborted) return;
      this.error = toApiError(error);
      this.state = "failed";
    }
  }

  /** Ends the upload; a long file's parts are removed. */
  cancel(): void {
    if (!this.isPending) return;
    this.state = "cancelled";
    this.#abort.abort(new DOMException("cancelled", "AbortError"));
  }

  /** Makes a failed upload ready to run again. */
  reset(): void {
    this.#abort = new AbortController();
    this.sent = 0;
    this.error = undefined;
    this.state = "waiting";
  }
}

class UploadQueue {
  items = $state.raw<readonly Upload[]>([]);
  /** How many uploads have ended, for pages that then show what is new. */
  ended = $state(0);
  pending = $derived(this.items.filter((upload) => upload.isPending));
  bytes = $derived(this.items.reduce((sum, upload) => sum + upload.file.size, 0));
  sent = $derived(this.items.reduce((sum, upload) => sum + upload.sent, 0));
  #workers = 0;

  /** Uploads files one after the other, some at a time. */
  add(uploads: readonly Upload[]): void {
    this.items = [...this.items, ...uploads];
    this.#start();
  }

  /** Tries again what failed or was cancelled. */
  retry(upload: Upload): void {
    upload.reset();
    this.#start();
  }

  cancelAll(): void {
    for (const upload of this.items) upload.cancel();
  }

  /** Forgets what has ended. */
  clear(): void {
    this.items = this.items.filter((upload) => upload.isPending);
  }

  #start(): void {
    while (this.#workers < PARALLEL_FILES && this.#next()) void this.#work();
  }

  #next(): Upload | undefined {
    return this.items.find((upload) => upload.state === "waiting");
  }

  async #work(): Promise<void> {
    this.#workers += 1;
    for (let upload = this.#next(); upload; upload = this.#next()) {
      await upload.run();
      this.ended += 1;
    }
    this.#workers -= 1;
  }
}

/** The uploads of this page. */
export const uploads = new UploadQueue();

window.addEventListener("beforeunload", (event) => {
  if (uploads.pending.length) event.preventDefault();
});
