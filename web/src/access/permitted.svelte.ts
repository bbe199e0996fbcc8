// The permissions of the signed-in user that a page needs, asked for again when its needs change.

import { resource } from "$/api/resource.svelte";
import { session } from "$/session.svelte";
import { type Need, type Permitted, PermissionCache, distinctNeeds } from "./own-permissions";

const cache = new PermissionCache();

/** What a page knows of the user's permissions. */
export interface OwnPermissions<Name extends string> {
  /** Whether the answer is still to come. */
  readonly loading: boolean;
  /** Returns why the server would refuse something; empty if it would not, or if that is not known. */
  refusal: (name: Name) => string;
  /** Returns the answer to the first need of something, undefined if it is not known. */
  answer: (name: Name) => Permitted | undefined;
}

/** Asks for the permissions of the needs of a page, whose actions change `branch`; not before the branch
 * has a name. For use while a component is initialised. */
export function ownPermissions<Name extends string>(
  needs: () => Record<Name, readonly Need[]>,
  branch?: () => string,
): OwnPermissions<Name> {
  const current = $derived(needs());
  const loaded = resource(async () => {
    const [user, at, asked] = [session.user?.id ?? "", branch?.() ?? "", distinctNeeds(current)];
    return branch && !at ? undefined : cache.ask(user, at, asked);
  });
  return {
    get loading() {
      return loaded.loading;
    },
    refusal: (name) => loaded.data?.refusal(current[name]) ?? "",
    answer: (name) => (current[name][0] ? loaded.data?.of(current[name][0]) : undefined),
  };
}
