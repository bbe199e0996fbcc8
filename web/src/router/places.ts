// Where one was on a page: what lists and the page are scrolled to, and which folders are open. Each entry of
// the browser's history keeps its own, so that going back, or loading the page again, shows the same.

const SAVE_MS = 150;

type Places = Record<string, unknown>;

let unsaved: Places = {};
let timer: ReturnType<typeof setTimeout> | undefined;

function saved(): Places {
  return (window.history.state as { places?: Places } | null)?.places ?? {};
}

/** Returns what this entry of the history keeps by a name. */
export function placeOf<T>(name: string): T | undefined {
  return (unsaved[name] ?? saved()[name]) as T | undefined;
}

/** Keeps a value by a name in this entry of the history, soon: browsers limit how often it can be written. */
export function keepPlace(name: string, value: unknown): void {
  unsaved[name] = value;
  timer ??= setTimeout(writePlaces, SAVE_MS);
}

/** Writes what is to be kept, before the entry is left. */
export function writePlaces(): void {
  clearTimeout(timer);
  timer = undefined;
  if (!Object.keys(unsaved).length) return;
  window.history.replaceState({ places: { ...saved(), ...unsaved } }, "");
  unsaved = {};
}

/** Drops what is to be kept, after the browser has left the entry. */
export function dropPlaces(): void {
  clearTimeout(timer);
  timer = undefined;
  unsaved = {};
}

const PAGE = "page";
const PATIENCE_MS = 10_000;

/** Whether the page is on its way to where it was, so that where it is now is nothing to keep. */
let returning = false;

/** Scrolls the page to where it was in this entry of the history, as soon as it is long enough, unless the
 * user does something before. */
export function returnToPlace(): void {
  const top = placeOf<number>(PAGE) ?? 0;
  window.scrollTo(0, top);
  if (window.scrollY >= top - 1) return;
  const observer = new ResizeObserver(() => {
    if (document.documentElement.scrollHeight - window.innerHeight < top) return;
    end();
    window.scrollTo(0, top);
  });
  const acts = ["wheel", "touchstart", "pointerdown", "keydown", "popstate"];
  const timer = setTimeout(end, PATIENCE_MS);
  function end(): void {
    returning = false;
    observer.disconnect();
    clearTimeout(timer);
    for (const act of acts) window.removeEventListener(act, end);
  }
  returning = true;
  for (const act of acts) window.addEventListener(act, end, { passive: true });
  observer.observe(document.body);
}

/** Keeps where the page is scrolled to from now on. */
export function keepPagePlace(): void {
  window.history.scrollRestoration = "manual";
  window.addEventListener("scroll", () => {
    if (!returning) keepPlace(PAGE, window.scrollY);
  });
  window.addEventListener("pagehide", writePlaces);
}
