// Which versions of an object can be looked at as images, side by side.

import type { ObjectStats } from "$/api/types";
import { kindOf } from "$/preview/kinds";

/** Whether the versions that exist are images; a vector image is shown as an image, too. */
export function areImages(path: string, ...versions: (ObjectStats | undefined)[]): boolean {
  const kinds = versions.flatMap((stat) => (stat ? [kindOf(path, stat.content_type ?? "")] : []));
  return kinds.length > 0 && kinds.every((kind) => kind === "image" || kind === "vector");
}
