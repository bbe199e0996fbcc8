// What can be done with an object or a folder of a listing.

import { archiveUrl, contentUrl, presignedUrl } from "$/api/objects";
import { toApiError } from "$/api/error";
import type { MenuItem } from "$/components/menu-item";
import { copy } from "$/components/copy";
import { notices } from "$/components/notices.svelte";
import { baseName, lakefsUri, s3Uri } from "$/format/addresses";
import { links } from "$/router/links";
import { navigate } from "$/router/location.svelte";
import { session } from "$/session.svelte";

/** An object, or a folder, whose path ends in a slash. */
export interface Place {
  repository: string;
  ref: string;
  path: string;
}

/** What the actions need from their page; without `rename` and `remove` nothing can be changed. */
export interface PageActions {
  rename?: (path: string) => void;
  /** Moves several into another folder. */
  move?: (paths: readonly string[]) => void;
  remove?: (paths: readonly string[]) => void;
  measure?: (path: string) => void;
  /** Shows how other programs read it. */
  use?: (path: string) => void;
  /** Why the server would refuse them, empty if it would not. */
  refusals?: { rename: string; remove: string };
}

/** Returns the menu of an object or a folder. */
export function placeActions(place: Place, actions: PageActions): MenuItem[] {
  const { repository, ref, path } = place;
  const isFolder = path.endsWith("/");
  const items: MenuItem[] = [];
  const content = isFolder ? archiveUrl(repository, ref, [path]) : contentUrl(repository, ref, path);
  if (content) items.push({ label: isFolder ? "Download as TAR" : "Download", icon: "download", href: content, download: true });
  const { rename, remove, measure, use, refusals = { rename: "", remove: "" } } = actions;
  items.push(
    { label: "Copy URI", icon: "copy", run: () => void copy(lakefsUri(repository, ref, path), "URI") },
    { label: "Copy S3 URI", icon: "copy", run: () => void copy(s3Uri(repository, ref, path), "S3 URI") },
  );
  if (!isFolder && session.config?.storage_config.pre_sign_support) {
    items.push({ label: "Copy presigned link", icon: "link", run: () => void copyPresigned(place) });
  }
  if (use) items.push({ label: "Use this data", icon: "code", run: () => use(path) });
  if (!isFolder) {
    const href = links.object(repository, ref, path, { tab: "history" });
    items.push({ label: "History", icon: "commit", run: () => navigate(href) });
  }
  if (isFolder && measure) {
    items.push({ label: "Calculate size", icon: "storage", run: () => measure(path) });
  }
  if (rename) items.push({ label: "Rename or move", icon: "rename", refusal: refusals.rename, run: () => rename(path) });
  if (remove) {
    items.push({ label: `Delete ${isFolder ? "folder" : "object"}`, icon: "trash", danger: true, refusal: refusals.remove, run: () => remove([path]) });
  }
  return items;
}

async function copyPresigned({ repository, ref, path }: Place): Promise<void> {
  try {
    await copy(await presignedUrl(repository, ref, path), "Presigned link");
  } catch (error) {
    const { message, hint } = toApiError(error);
    notices.show(`No link to ${baseName(path)}: ${message}. ${hint}`, "error");
  }
}
