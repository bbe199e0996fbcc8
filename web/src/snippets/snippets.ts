// Ready snippets that read an object or a folder with the programs that people use.

import { apiUrl } from "../api/client";
import { lakefsUri } from "../format/addresses";
import { shellWord } from "./quoting";
import * as s3 from "./s3-snippets";
import { type Source, fileName, isFolder } from "./source";

/** A program, and the language of its snippet. */
export interface Tool {
  id: string;
  label: string;
  language: "python" | "bash";
  /** Returns the snippet, the empty string if the program cannot read the source. */
  write: (source: Source) => string;
}

export const TOOLS: readonly Tool[] = [
  { id: "pandas", label: "pandas", language: "python", write: s3.pandas },
  { id: "polars", label: "Polars", language: "python", write: s3.polars },
  { id: "duckdb", label: "DuckDB", language: "python", write: s3.duckdb },
  { id: "spark", label: "Spark", language: "python", write: s3.spark },
  { id: "anabranch", label: "anabranch", language: "bash", write: anabranch },
  { id: "boto3", label: "boto3", language: "python", write: s3.boto3 },
  { id: "curl", label: "curl", language: "bash", write: curl },
];

/** Returns the tools that can read a source. */
export function toolsFor(source: Source): Tool[] {
  return TOOLS.filter((tool) => tool.write(source) !== "");
}

function anabranch(source: Source): string {
  const uri = shellWord(lakefsUri(source.repository, source.ref, source.path));
  const options = isFolder(source) ? "--recursive " : "";
  return [
    "# it reads the keys from ANABRANCH_ACCESS_KEY_ID and ANABRANCH_SECRET_ACCESS_KEY",
    `export ANABRANCH_SERVER=${shellWord(source.server)}`,
    `anabranch fs download ${options}${uri} ${shellWord(fileName(source))}`,
    "",
  ].join("\n");
}

function curl(source: Source): string {
  const { server, repository, ref, path } = source;
  const objects = "/repositories/{repository}/refs/{ref}/objects";
  const url = isFolder(source)
    ? apiUrl(`${objects}/ls`, { repository, ref }, { prefix: path, amount: 1000 })
    : apiUrl(objects, { repository, ref }, { path });
  const output = isFolder(source) ? "" : `  --output ${shellWord(fileName(source))} \\\n`;
  return [
    "curl --fail --globoff \\",
    '  --user "$ANABRANCH_ACCESS_KEY_ID:$ANABRANCH_SECRET_ACCESS_KEY" \\',
    `${output}  ${shellWord(server + url)}`,
    "",
  ].join("\n");
}
