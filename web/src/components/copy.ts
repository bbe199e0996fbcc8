// Copying to the clipboard, with a word about it.

import { notices } from "./notices.svelte";

/** Copies a text; `what` says what it is. */
export async function copy(text: string, what: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    if (!copyBySelection(text)) {
      notices.show(`The browser does not allow copying. ${what}: ${text}`, "error");
      return;
    }
  }
  notices.show(`${what} copied`);
}

/** Copies by a selection, where the clipboard is not offered: pages without TLS. */
function copyBySelection(text: string): boolean {
  const area = document.createElement("textarea");
  area.value = text;
  area.className = "visually-hidden";
  (document.querySelector("dialog[open]") ?? document.body).append(area);
  area.select();
  // eslint-disable-next-line @typescript-eslint/no-deprecated -- nothing else copies without TLS
  const copied = document.execCommand("copy");
  area.remove();
  return copied;
}
