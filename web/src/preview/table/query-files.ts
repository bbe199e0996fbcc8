// Results of queries as files: their formats, and the download.

import { apiUrl, send } from "$/api/client";
import type { components } from "$/api/schema";

type Query = components["schemas"]["Query"];

/** A format that the server writes, and how names of its files end. */
export interface FileFormat {
  name: NonNullable<Query["format"]>;
  label: string;
  extension: string;
}

export const FILE_FORMATS: readonly FileFormat[] = [
  { name: "csv", label: "CSV", extension: "csv" },
  { name: "jsonl", label: "JSON lines", extension: "jsonl" },
  { name: "arrow", label: "Arrow", extension: "arrows" },
  { name: "parquet", label: "Parquet", extension: "parquet" },
];

/** Returns the whole result of a query as a file. Throws ApiError; an abort stays an AbortError. */
export function queryFile(
  repository: string,
  reference: string,
  query: Query,
  format: FileFormat,
  signal: AbortSignal,
): Promise<Blob> {
  const url = apiUrl("/repositories/{repository}/refs/{ref}/query", { repository, ref: reference });
  const init: RequestInit = {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ ...query, format: format.name }),
    signal,
  };
  return send(url, init, (response) => response.blob());
}

/** Returns the name of a result's file: that of the object that is queried, with another ending. */
export function resultName(path: string, format: FileFormat): string {
  const name = path.slice(path.lastIndexOf("/") + 1);
  const stem = name.replace(/(?<=.)\.[^.]*$/, "") || "query";
  return `${stem}-query.${format.extension}`;
}

/** Lets the browser save a file under a name. */
export function saveFile(content: Blob, name: string): void {
  const url = URL.createObjectURL(content);
  const anchor = document.createElement("a");
  anchor.href = url;
  anchor.download = name;
  anchor.click();
  URL.revokeObjectURL(url);
}
