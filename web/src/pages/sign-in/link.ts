// A link that signs in once. What it holds is in the address's fragment, which browsers send to no server.

export interface SignInLink {
  username: string;
  code: string;
  /** The page to go to afterwards; may be empty. */
  next: string;
}

/** Returns what the fragment of an address holds, undefined if it is no link. */
export function readLink(hash: string): SignInLink | undefined {
  const fields = new URLSearchParams(hash.replace(/^#/, ""));
  const [username, code] = [fields.get("user"), fields.get("code")];
  return username && code ? { username, code, next: fields.get("next") ?? "" } : undefined;
}
