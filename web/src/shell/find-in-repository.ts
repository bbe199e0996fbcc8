// Branches and objects of a repository, for the command palette.

import { api } from "$/api/client";
import { links } from "$/router/links";
import type { Command } from "./palette.svelte";

const AMOUNT = 10;

/** Returns commands that go to the branches, and to the objects and folders at a reference, whose names begin
 * with a prefix. What may not be listed is left out. */
export async function findInRepository(
  repository: string,
  ref: string,
  prefix: string,
  signal: AbortSignal,
): Promise<Command[]> {
  const [branches, objects] = await Promise.allSettled([
    api.get("/repositories/{repository}/branches", { path: { repository }, query: { prefix, amount: AMOUNT }, signal }),
    api.get("/repositories/{repository}/refs/{ref}/objects/ls", {
      path: { repository, ref },
      query: { prefix, delimiter: "/", amount: AMOUNT, user_metadata: false },
      signal,
    }),
  ]);
  const found: Command[] = [];
  for (const { id } of branches.status === "fulfilled" ? branches.value.results : []) {
    found.push({ label: `Branch ${id}`, icon: "branch", href: links.objects(repository, id) });
  }
  for (const { path, path_type: type } of objects.status === "fulfilled" ? objects.value.results : []) {
    const isFolder = type === "common_prefix";
    found.push({
      label: `${isFolder ? "Folder" : "Object"} ${path}`,
      icon: isFolder ? "folder" : "file",
      href: (isFolder ? links.objects : links.object)(repository, ref, path),
    });
  }
  return found;
}
