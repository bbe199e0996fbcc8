// Texts as literals of languages. What a reader could not see, such as a line feed or a character that turns
// the direction of writing round, is written as an escape.

/** Characters that are not shown as they are: controls, formats, spaces other than the usual one. */
const UNSEEN = /[\p{C}\p{Zl}\p{Zp}]|(?! )\p{Zs}/u;

const PYTHON_ESCAPES: Record<string, string> = {
  "\\": "\\\\",
  '"': '\\"',
  "\n": "\\n",
  "\r": "\\r",
  "\t": "\\t",
};

/** Returns a text as a string of Python. */
export function pythonString(text: string): string {
  return `"${Array.from(text, pythonCharacter).join("")}"`;
}

function pythonCharacter(character: string): string {
  const escape = PYTHON_ESCAPES[character];
  if (escape || !UNSEEN.test(character)) return escape ?? character;
  const code = character.codePointAt(0)!;
  const digits = code < 0x100 ? 2 : code < 0x10000 ? 4 : 8;
  return `\\${{ 2: "x", 4: "u", 8: "U" }[digits]}${code.toString(16).padStart(digits, "0")}`;
}

/** Returns a text as one word of a shell; with escapes, which bash, zsh and ksh know, only if it needs them. */
export function shellWord(text: string): string {
  if (/^[\w@%+:,./=][\w@%+:,./=-]*$/.test(text)) return text;
  if (!UNSEEN.test(text)) return `'${text.replaceAll("'", "'\\''")}'`;
  return `$'${Array.from(text, shellCharacter).join("")}'`;
}

function shellCharacter(character: string): string {
  if (character === "\\" || character === "'") return `\\${character}`;
  if (!UNSEEN.test(character)) return character;
  const bytes = new TextEncoder().encode(character);
  return Array.from(bytes, (byte) => `\\${byte.toString(8).padStart(3, "0")}`).join("");
}
