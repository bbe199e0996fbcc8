// Trying again, with pauses that grow, for as long as the user does not cancel.

import { isWorthRetrying } from "./put";

const FIRST_PAUSE_MS = 500;
const MAX_PAUSE_MS = 10_000;

/** Returns the result of work that is tried again after temporary errors; `waiting` is called with each
 * of them. Throws the first other error, or AbortError. */
export async function withRetries<T>(
  work: () => Promise<T>,
  signal: AbortSignal,
  waiting: (error: Error | undefined) => void,
): Promise<T> {
  let pause = FIRST_PAUSE_MS;
  for (;;) {
    try {
      const result = await work();
      waiting(undefined);
      return result;
    } catch (error) {
      if (signal.aborted || !isWorthRetrying(error)) throw error;
      waiting(error as Error);
    }
    await sleep(pause, signal);
    pause = Math.min(2 * pause, MAX_PAUSE_MS);
  }
}

function sleep(milliseconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer);
      reject(signal.reason as Error);
    };
    const timer = setTimeout(() => {
      signal.removeEventListener("abort", stop);
      resolve();
    }, milliseconds);
    signal.addEventListener("abort", stop, { once: true });
  });
}
