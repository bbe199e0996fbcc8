// Where a text stops being JSON. Browsers' own errors name no position, or each in its own words.

const SPACE = /[ \t\n\r]*/y;
const TOKEN =
  // eslint-disable-next-line no-control-regex -- strings have no control characters
  /"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null|[{}[\],:]/y;

/** What may come next: `first` is a value or the end of an empty list, `name` that of an object's member. */
type Expected = "value" | "first" | "name" | "firstName" | "colon" | "next" | "nothing";

/** Returns the index of the first token that does not belong there, the length of a text that ends too
 * early, and undefined for JSON. */
export function jsonFault(text: string): number | undefined {
  const open: string[] = []; // what closes the lists and objects around
  let expected: Expected = "value";
  for (let at = skip(SPACE, text, 0); ; at = skip(SPACE, text, at)) {
    const end = skip(TOKEN, text, at);
    if (at === text.length) return expected === "nothing" ? undefined : at;
    if (end === at) return at;
    const following = follow(expected, text.slice(at, end), open);
    if (!following) return at;
    expected = following;
    at = end;
  }
}

/** Returns what may come after a token, or undefined if it does not belong there. */
function follow(expected: Expected, token: string, open: string[]): Expected | undefined {
  const afterValue = () => (open.length ? "next" : "nothing");
  const closes = token === open.at(-1) && (expected === "next" || expected === "first" || expected === "firstName");
  if (closes) {
    open.pop();
    return afterValue();
  }
  switch (expected) {
    case "value":
    case "first":
      if (token === "[") return open.push("]"), "first";
      if (token === "{") return open.push("}"), "firstName";
      return "]},:".includes(token) ? undefined : afterValue();
    case "name":
    case "firstName":
      return token.startsWith('"') ? "colon" : undefined;
    case "colon":
      return token === ":" ? "value" : undefined;
    case "next":
      if (token !== ",") return undefined;
      return open.at(-1) === "]" ? "value" : "name";
    case "nothing":
      return undefined;
  }
}

/** Returns where a match of an expression at a place ends: there if there is none. */
function skip(expression: RegExp, text: string, at: number): number {
  expression.lastIndex = at;
  return at + (expression.exec(text)?.[0].length ?? 0);
}
