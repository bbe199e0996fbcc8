// The queries that were run last, kept by this browser alone: the server does not have them.

const KEY = "anabranch.queries";
const MAX_KEPT = 20;
const MAX_CHARS = 10_000;

interface Kept {
  user: string;
  repository: string;
  sql: string;
}

function isKept(value: unknown): value is Kept {
  const fields = ["user", "repository", "sql"];
  return typeof value === "object" && value !== null && fields.every((name) => typeof value[name as never] === "string");
}

function read(): Kept[] {
  try {
    const stored: unknown = JSON.parse(localStorage.getItem(KEY) ?? "[]");
    return Array.isArray(stored) ? stored.filter(isKept).slice(0, MAX_KEPT) : [];
  } catch {
    return []; // storage may be forbidden, and hold anything
  }
}

/** The last queries of all users and repositories of this browser, the newest first. */
export class RecentQueries {
  #kept = $state.raw<readonly Kept[]>(read());

  /** Returns the SQL of a user's queries of a repository, the newest first. */
  of(user: string, repository: string): string[] {
    return this.#kept.filter((each) => each.user === user && each.repository === repository).map(({ sql }) => sql);
  }

  /** Puts a query first. Blank ones, and those too long to be kept, are not. */
  add(user: string, repository: string, sql: string): void {
    if (!sql.trim() || sql.length > MAX_CHARS) return;
    const added = { user, repository, sql };
    // other tabs may have added some
    const others = read().filter((each) => each.user !== user || each.repository !== repository || each.sql !== sql);
    this.#keep([added, ...others].slice(0, MAX_KEPT));
  }

  /** Forgets a user's queries of a repository. */
  clear(user: string, repository: string): void {
    this.#keep(read().filter((each) => each.user !== user || each.repository !== repository));
  }

  #keep(kept: readonly Kept[]): void {
    this.#kept = kept;
    try {
      if (kept.length) localStorage.setItem(KEY, JSON.stringify(kept));
      else localStorage.removeItem(KEY);
    } catch {
      // then they hold until the page is left
    }
  }
}
