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
  /** The tables of a reference. */
  tables: (repository: string, ref: string) => address(["repositories", repository, "tables"], { ref }),
  /** A table, by the path of its record in the catalog, or its folder. */
  table: (repository: string, ref: string, path: string, more: Query = {}) =>
    address(["repositories", repository, "table"], { ref, path, ...more }),
  /** The uncommitted changes of a branch. */
  changes: (repository: string, ref: string) =>
    address(["repositories", repository, "changes"], { ref }),
  commits: (repository: string, ref: string, more: Query = {}) =>
    address(["repositories", repository, "commits"], { ref, ...more }),
  commit: (repository: string, id: string, more: Query = {}) =>
    address(["repositories", repository, "commits", id], more),
  branches: (repository: string) => address(["repositories", repository, "branches"]),
  tags: (repository: string) => address(["repositories", repository, "tags"]),
  compare: (repository: string, ref: string, compare = "", more: Query = {}) =>
    address(["repositories", repository, "compare"], { ref, compare, ...more }),
  /** SQL over a repository; `sql` is the query. */
  query: (repository: string, ref: string, more: Query = {}) =>
    address(["repositories", repository, "query"], { ref, ...more }),
  pulls: (repository: string, more: Query = {}) =>
    address(["repositories", repository, "pulls"], more),
  newPull: (repository: string, source = "", destination = "") =>
    address(["repositories", repository, "pulls", "create"], { source, destination }),
  pull: (repository: string, id: string, more: Query = {}) =>
    address(["repositories", repository, "pulls", id], more),
  actions: (repository: string, more: Query = {}) =>
    address(["repositories", repository, "actions"], more),
  /** A run of hooks; `hook` is the one whose output is shown. */
  run: (repository: string, id: string, more: Query = {}) =>
    address(["repositories", repository, "actions", id], more),
  /** The action files of a branch. */
  actionFiles: (repository: string, ref = "") => address(["repositories", repository, "action-files"], { ref }),
  /** The form for an action file, of a new one without a path. */
  actionFile: (repository: string, ref: string, path = "") =>
    address(["repositories", repository, "action-files", "edit"], { ref, path }),
  /** The operations that have changed branches and tags. */
  activity: (repository: string) => address(["repositories", repository, "activity"]),
  storage: (repository: string) => address(["repositories", repository, "storage"]),
  settings: (repository: string, section = "general") =>
    address(["repositories", repository, "settings", section]),
  users: () => "/auth/users",
  user: (id: string, section = "") => address(["auth", "users", id, ...(section ? section.split("/") : [])]),
  groups: () => "/auth/groups",
  group: (id: string, section = "members") => address(["auth", "groups", id, section]),
  policies: () => "/auth/policies",
  policy: (id: string) => address(["auth", "policies", id]),
  /** Why somebody may or may not do something. */
  /** `branch` is the branch that the action changes, for conditions on it. */
  explain: (user = "", action = "", resource = "", branch = "") => address(["auth", "explain"], { user, action, resource, branch }),
  audit: () => "/auth/audit",
  /** The operations that have changed repositories, groups and policies. */
  installationActivity: () => "/auth/activity",
  ownCredentials: () => "/auth/credentials",
  images: (more: Query = {}) => address(["images"], more),
  /** Builds an image; `from` is one whose Lakefile to begin with. */
  newImage: (from = "") => address(["images", "build"], { from }),
  image: (tag: string) => address(["images", "tags", tag]),
};
