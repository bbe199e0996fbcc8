// Ready snippets that read a table with the programs that people use.

import { DELTA_SNIPPETS as delta } from "./delta-snippets";
import { ICEBERG_SNIPPETS as iceberg } from "./iceberg-snippets";
import type { TableSource } from "./source";

/** A program, and the language of its snippet. */
export interface TableTool {
  id: string;
  label: string;
  language: "python" | "ini";
  /** Returns the snippet, the empty string if the program cannot read the table. */
  write: (source: TableSource) => string;
}

const ICEBERG: readonly TableTool[] = [
  { id: "pyiceberg", label: "pyiceberg", language: "python", write: iceberg.pyiceberg },
  { id: "duckdb", label: "DuckDB", language: "python", write: iceberg.duckdb },
  { id: "polars", label: "Polars", language: "python", write: iceberg.polars },
  { id: "spark", label: "Spark", language: "python", write: iceberg.spark },
  { id: "trino", label: "Trino", language: "ini", write: iceberg.trino },
];
const DELTA: readonly TableTool[] = [
  { id: "deltalake", label: "delta-rs", language: "python", write: delta.deltalake },
  { id: "polars", label: "Polars", language: "python", write: delta.polars },
  { id: "spark", label: "Spark", language: "python", write: delta.spark },
];

/** Returns the tools that can read a table. */
export function tableTools(source: TableSource, format: "iceberg" | "delta"): TableTool[] {
  return (format === "iceberg" ? ICEBERG : DELTA).filter((tool) => tool.write(source) !== "");
}
