// Addresses of objects for other programs.

/** Returns the lakeFS URI of a path. */
export function lakefsUri(repository: string, ref: string, path = ""): string {
  return `lakefs://${repository}/${ref}/${path}`;
}

/** Returns the address of a path through the S3 gateway. */
export function s3Uri(repository: string, ref: string, path = ""): string {
  return `s3://${repository}/${ref}/${path}`;
}

/** Returns the path that somebody has typed, without the slashes that do not belong to it. */
export function typedPath(text: string): string {
  return text.trim().replace(/^\/+/, "");
}

/** Returns the folder that somebody has typed, with its slash; the empty string for the top. */
export function typedFolder(text: string): string {
  const path = typedPath(text);
  return path && !path.endsWith("/") ? `${path}/` : path;
}

/** Returns the last segment of a path, with the slash of a folder. */
export function baseName(path: string): string {
  const end = path.endsWith("/") ? path.length - 1 : path.length;
  return path.slice(path.lastIndexOf("/", end - 1) + 1);
}

/** Returns the folder of a path, with its slash; the empty string for the top. */
export function folderOf(path: string): string {
  return path.slice(0, path.lastIndexOf("/", path.length - 2) + 1);
}

/** Returns the first characters of a commit's id. */
export function shortId(id: string): string {
  return id.slice(0, 12);
}
