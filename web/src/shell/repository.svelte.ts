// The repository that is shown: loaded once for all its pages.

import { api } from "$/api/client";
import { Resource } from "$/api/resource.svelte";
import type { Repository } from "$/api/types";

class CurrentRepository {
  #name = "";
  #resource = new Resource<Repository>((signal) =>
    api.get("/repositories/{repository}", { path: { repository: this.#name }, signal }),
  );

  /** The repository, once it is loaded. */
  get data(): Repository | undefined {
    return this.#resource.data;
  }

  get error() {
    return this.#resource.error;
  }

  /** Loads a repository, unless it is the one that is shown. */
  show(name: string): void {
    if (name === this.#name && !this.#resource.error) return;
    this.#name = name;
    this.#resource.data = undefined;
    void this.#resource.reload();
  }

  /** Loads it again, after a change. */
  reload(): void {
    void this.#resource.reload();
  }
}

/** The repository of the address. */
export const currentRepository = new CurrentRepository();
