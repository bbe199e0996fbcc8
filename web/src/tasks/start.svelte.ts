// Starting a task: once, also if the response is lost and the user tries again.

import { ApiError, toApiError } from "$/api/error";

/** The start of a task. What is asked for keeps its key until the server has responded. */
export class TaskStart {
  /** Whether the server may have started the task of the last request. */
  unsure = $state(false);
  #body = "";
  #key = "";

  /** Returns the response to a request with this body. Throws ApiError. */
  async send<T>(body: unknown, request: (headers: Record<string, string>) => Promise<T>): Promise<T> {
    const text = JSON.stringify(body);
    if (text !== this.#body || !this.#key) this.#key = newKey();
    this.#body = text;
    this.unsure = false;
    try {
      const response = await request({ "Idempotency-Key": this.#key });
      this.#key = "";
      return response;
    } catch (thrown) {
      const error = toApiError(thrown);
      this.unsure = error.isUnanswered;
      if (!this.unsure) throw error;
      const hint = "Try again with the same input: it is done once, even if the first request has arrived.";
      throw new ApiError(error.message, { status: error.status, kind: error.kind, hint });
    }
  }
}

function newKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16)); // randomUUID needs TLS
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
