// Which dialog of the data page is open.

import { session } from "$/session.svelte";
import type { ChosenFile } from "$/uploads/dropped-files";

/** A dialog and what it is about. */
export type DataDialog =
  | { name: "upload"; files: ChosenFile[] }
  | { name: "import" }
  | { name: "folder" }
  | { name: "rename" | "measure" | "use"; path: string }
  | { name: "move" | "delete"; paths: readonly string[] };

/** Whether the server's store has objects to import. */
export function canImport(): boolean {
  return session.config?.storage_config.import_support === true;
}
