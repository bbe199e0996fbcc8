// Loading again and again while somebody looks.

/** Calls a function every so many milliseconds while the page is in sight and `on` says so. For use while a
 * component is initialised. */
export function repeat(on: () => boolean, milliseconds: number, run: () => void): void {
  $effect(() => {
    if (!on()) return;
    const timer = setInterval(() => {
      if (document.visibilityState === "visible") run();
    }, milliseconds);
    return () => clearInterval(timer);
  });
}
