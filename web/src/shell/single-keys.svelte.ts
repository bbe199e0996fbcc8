// Whether single keys, such as `/` and `g d`, do something. Who speaks to the computer, or hits keys
// unintentionally, can turn them off (WCAG 2.1.4); Ctrl+K stays.

const KEY = "anabranch.single-keys";

function read(): boolean {
  try {
    return localStorage.getItem(KEY) !== "off";
  } catch {
    return true; // storage may be forbidden
  }
}

class SingleKeys {
  on = $state(read());

  /** Turns them on or off, and remembers it. */
  toggle(): void {
    this.on = !this.on;
    try {
      localStorage.setItem(KEY, this.on ? "on" : "off");
    } catch {
      // then it holds until the page is left
    }
  }
}

/** The setting. */
export const singleKeys = new SingleKeys();
