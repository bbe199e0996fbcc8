// The parameters of an address that do not choose the rows of its page.

/** Those that choose the difference beside the rows, and how it is shown. */
export const DIFFERENCE = ["open", "view", "key", "match"] as const;

/** Those that choose what is shown beside or above the rows: with others, the rows are the same. */
export const BESIDE_ROWS = [...DIFFERENCE, "merge"];

/** Returns a query without some parameters. */
export function without(query: URLSearchParams, names: readonly string[]): URLSearchParams {
  const rest = new URLSearchParams(query);
  for (const name of names) rest.delete(name);
  return rest;
}
