// What an empty listing says to a user who may not read all that it could hold. It follows from the
// user's policies alone: whether there are objects that are not shown stays unknown.

import type { Permitted } from "$/access/own-permissions";

/** Returns the title of an empty listing, empty if the user may read all that it could hold or if that is
 * not known. Objects that are not on a branch may be readable as those of an image, too. */
export function unreadableTitle(reading: Permitted | undefined, isBranch: boolean): string {
  if (!reading || reading.all) return "";
  return reading.allowed || !isBranch ? "There are no objects here that you may read" : "You may not read any objects here";
}
