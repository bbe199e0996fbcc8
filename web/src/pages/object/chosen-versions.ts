// Which two versions of an object are compared: ids of commits in the address.

/** Returns the chosen ids of an address, at most two. */
export function chosenVersions(text: string | null): string[] {
  const ids = (text ?? "").split(",").filter(Boolean);
  return [...new Set(ids)].slice(0, 2);
}

/** Returns the choice after a click on a version: of three, the one that was chosen first is let go. */
export function toggleVersion(chosen: readonly string[], id: string): string[] {
  return chosen.includes(id) ? chosen.filter((other) => other !== id) : [...chosen, id].slice(-2);
}

/** Returns the two chosen versions, the older one first, undefined unless there are two. `newestFirst` are those
 * that are listed; one that is not listed yet is older than all of these. */
export function comparedVersions(
  chosen: readonly string[],
  newestFirst: readonly string[],
): { older: string; newer: string } | undefined {
  const [first, second] = chosen;
  if (first === undefined || second === undefined) return undefined;
  const age = (id: string): number => (newestFirst.includes(id) ? newestFirst.indexOf(id) : newestFirst.length);
  return age(first) >= age(second) ? { older: first, newer: second } : { older: second, newer: first };
}
