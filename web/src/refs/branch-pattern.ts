// Patterns of branches as regular expressions: `*`, `?`, `[abc]`, `[a-z]`, `[!a]`, `{this,that}`, and `\` before a
// character, read as the server reads them. Differs from the usual globs in classes: one range, or a list in
// which `-` and `^` are not special.

const MAX_DEPTH = 16;
const EVERYTHING = /^/;

class Malformed extends Error {}

/** Returns the expression of a pattern. A malformed one matches all branches, as on the server. */
export function toPattern(pattern: string): RegExp {
  try {
    return new RegExp(`^(?:${new Reader(pattern).read()})$`, "su");
  } catch (error) {
    if (error instanceof Malformed) return EVERYTHING;
    throw error;
  }
}

class Reader {
  #characters: string[];
  #at = 0;
  #depth = 0;

  constructor(pattern: string) {
    this.#characters = Array.from(pattern); // code points, as on the server
  }

  read(): string {
    return this.#sequence("");
  }

  /** Returns the expression up to one of the characters `ends`, or to the end. */
  #sequence(ends: string): string {
    let source = "";
    for (;;) {
      const character = this.#characters[this.#at];
      if (character === undefined || ends.includes(character)) return source;
      source += this.#term();
    }
  }

  #term(): string {
    const character = this.#next();
    if (character === "*") return ".*";
    if (character === "?") return ".";
    if (character === "[") return this.#class();
    if (character === "{") return this.#choice();
    return literal(character === "\\" ? this.#next() : character);
  }

  #choice(): string {
    this.#depth += 1;
    if (this.#depth > MAX_DEPTH) throw new Malformed();
    const choices: string[] = [];
    do choices.push(this.#sequence(",}"));
    while (this.#next() !== "}");
    this.#depth -= 1;
    return `(?:${choices.join("|")})`;
  }

  #class(): string {
    const isNegated = this.#characters[this.#at] === "!";
    if (isNegated) this.#at += 1;
    const members = this.#characters[this.#at + 1] === "-" ? this.#range() : this.#list();
    return `[${isNegated ? "^" : ""}${members}]`;
  }

  #range(): string {
    const low = this.#next();
    this.#at += 1;
    const high = this.#next();
    if (this.#next() !== "]" || codePoint(low) > codePoint(high)) throw new Malformed();
    return `${literal(low)}-${literal(high)}`;
  }

  #list(): string {
    let members = "";
    for (let character = this.#next(); character !== "]"; character = this.#next()) {
      members += literal(character === "\\" ? this.#next() : character);
    }
    if (!members) throw new Malformed();
    return members;
  }

  #next(): string {
    const character = this.#characters[this.#at];
    if (character === undefined) throw new Malformed();
    this.#at += 1;
    return character;
  }
}

function codePoint(character: string): number {
  return character.codePointAt(0) ?? 0;
}

/** Returns an expression of one character, in a class or out of it. */
function literal(character: string): string {
  return `\\u{${codePoint(character).toString(16)}}`;
}
