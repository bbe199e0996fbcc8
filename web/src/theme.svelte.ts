// Light or dark, as the system says unless the reader chose.

export type ThemeName = "system" | "light" | "dark";

const KEY = "anabranch.theme";
const NAMES: readonly string[] = ["system", "light", "dark"];

function read(): ThemeName {
  try {
    const stored = localStorage.getItem(KEY) ?? "";
    return NAMES.includes(stored) ? (stored as ThemeName) : "system";
  } catch {
    return "system"; // storage may be forbidden
  }
}

class Theme {
  name = $state<ThemeName>(read());

  /** Chooses a theme and remembers it. */
  choose(name: ThemeName): void {
    this.name = name;
    this.apply();
    try {
      localStorage.setItem(KEY, name);
    } catch {
      // then it holds until the page is left
    }
  }

  /** Shows the chosen theme. */
  apply(): void {
    if (this.name === "system") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = this.name;
  }
}

/** The theme of the application. */
export const theme = new Theme();
