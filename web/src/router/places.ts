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
// eslint-disable-next-line @typescript-eslint/no-unnecessary-type-parameters -- the caller knows what it has kept
export function placeOf<T>(name: string): T | undefined {
  return (unsaved[name] ?? saved()[name]) as T | undefined;
}

/** Keeps a value by a name in this entry of the history, soon: browsers limit how often it can be written. */
export function keepPlace(name: string, value: unknown): void {
  unsaved[name] = value;
  timer ??= setTimeout(writePlaces, SAVE_MS);
}

/** Writes what is to be kept, before the browser gets another entry. */
export function leaveEntry(): void {
  writePlaces();
  held = undefined;
  stop?.();
}

/** Writes what is to be kept, now. */
export function writePlaces(): void {
  clearTimeout(timer);
  timer = undefined;
  if (!Object.keys(unsaved).length) return;
  window.history.replaceState({ places: { ...saved(), ...unsaved } }, "");
  unsaved = {};
}

/** Notes that the browser has gone to another entry: what was to be kept is of the one before. */
export function entryChanged(): void {
  clearTimeout(timer);
  timer = undefined;
  unsaved = {};
  stop?.();
  held = placeOf<number>(PAGE) ?? 0;
}

const PAGE = "page";
const PATIENCE_MS = 10_000;

/** Where to go back to once the page is shown: until then, where it is scrolled to is nothing to keep. */
let held: number | undefined;
/** Ends going back, while the page is not long enough yet. */
let stop: (() => void) | undefined;

/** Scrolls the page to where it was in this entry of the history, as soon as it is long enough, unless the
 * user does something before. */
export function returnToPlace(): void {
  stop?.();
  const top = held ?? placeOf<number>(PAGE) ?? 0;
  held = undefined;
  window.scrollTo(0, top);
  if (window.scrollY >= top - 1) return;
  const observer = new ResizeObserver(() => {
    if (document.documentElement.scrollHeight - window.innerHeight < top) return;
    end();
    window.scrollTo(0, top);
  });
  const acts = ["wheel", "touchstart", "pointerdown", "keydown"];
  const timer = setTimeout(end, PATIENCE_MS);
  function end(): void {
    stop = undefined;
    observer.disconnect();
    clearTimeout(timer);
    for (const act of acts) window.removeEventListener(act, end);
  }
  stop = end;
  for (const act of acts) window.addEventListener(act, end, { passive: true });
  observer.observe(document.body);
}

/** Does so if the browser has gone to this entry, for pages that are shown already. */
export function returnIfHeld(): void {
  if (held !== undefined) returnToPlace();
}

/** Keeps where the page is scrolled to from now on. */
export function keepPagePlace(): void {
  window.history.scrollRestoration = "manual";
  window.addEventListener("scroll", () => {
    if (held === undefined && !stop) keepPlace(PAGE, window.scrollY);
  });
  window.addEventListener("pagehide", writePlaces);
}
