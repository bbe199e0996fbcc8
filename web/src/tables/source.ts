// What a snippet reads, and what all of them have: names of the variables with the keys, never the keys.

/** A table, by its path. `server` is the origin of the pages. */
export interface TableSource {
  server: string;
  repository: string;
  ref: string;
  path: string;
}

/** What Python calls an access key's id, and its secret. */
export const KEY = 'os.environ["ANABRANCH_ACCESS_KEY_ID"]';
export const SECRET = 'os.environ["ANABRANCH_SECRET_ACCESS_KEY"]';

/** Returns a text of lines. */
export function lines(...all: string[]): string {
  return `${all.join("\n")}\n`;
}
