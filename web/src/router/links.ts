// Addresses of the application's pages; those of lakeFS's pages are its own.

type Query = Record<string, string | undefined>;

function address(segments: string[], query: Query = {}): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value) parameters.set(name, value);
  const text = parameters.toString();
  return `/${segments.map(encodeURIComponent).join("/")}${text ? `?${text}` : ""}`;
}

/** Addresses by page. */
export const links = {
  repositories: () => "/repositories",
  signIn: (next = "") => address(["auth", "login"], { next: next === "/" ? "" : next }),
  setup: () => "/setup",
  /** The objects of a folder, whose path is empty or ends in a slash. */
  objects: (repository: string, ref: string, path = "", more: Query = {}) =>
    address(["repositories", repository, "objects"], { ref, path, ...more }),
  object: (repository: string, ref: string, path: string, more: Query = {}) =>
    address(["repositories", repository, "object"], { ref, path, ...more }),
  /** The uncommitted changes of a branch. */
  changes: (repository: string, ref: string) =>
    address(["repositories", repository, "changes"], { ref }),
  commits: (repository: string, ref: string, more: Query = {}) =>
    address(["repositories", repository, "commits"], { ref, ...more }),
  commit: (repository: string, id: string) => address(["repositories", repository, "commits", id]),
  branches: (repository: string) => address(["repositories", repository, "branches"]),
  tags: (repository: string) => address(["repositories", repository, "tags"]),
  compare: (repository: string, ref: string, compare = "") =>
    address(["repositories", repository, "compare"], { ref, compare }),
  pulls: (repository: string) => address(["repositories", repository, "pulls"]),
  pull: (repository: string, id: string) => address(["repositories", repository, "pulls", id]),
  actions: (repository: string) => address(["repositories", repository, "actions"]),
  storage: (repository: string) => address(["repositories", repository, "storage"]),
  settings: (repository: string, section = "general") =>
    address(["repositories", repository, "settings", section]),
  users: () => "/auth/users",
};
