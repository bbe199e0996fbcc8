// Jupyter notebooks (nbformat 3 and 4), read without trust in any of their fields.

import { ApiError } from "$/api/error";

/** An output of a cell: what it is, and its text or data. */
export type Output =
  | { kind: "text" | "error" | "html" | "markdown"; text: string }
  | { kind: "image"; source: string };

/** A cell. */
export interface Cell {
  kind: "code" | "markdown" | "raw";
  source: string;
  count: string;
  outputs: Output[];
}

/** A notebook. */
export interface Notebook {
  language: string;
  cells: Cell[];
}

type Fields = Record<string, unknown>;

const IMAGES = ["image/png", "image/jpeg", "image/gif", "image/webp"];
const BASE64 = /^[A-Za-z0-9+/=\s]+$/;
// eslint-disable-next-line no-control-regex -- the escape character begins the codes of terminals
const TERMINAL_CODES = /\u001b\[[0-9;]*[A-Za-z]/g;

/** Returns the notebook in a file's text. Throws ApiError. */
export function parseNotebook(text: string): Notebook {
  let root: Fields;
  try {
    root = fields(JSON.parse(text));
  } catch {
    throw new ApiError("The notebook is not JSON.", { kind: "unreadable" });
  }
  const metadata = fields(root.metadata);
  const named = fields(metadata.language_info).name ?? fields(metadata.kernelspec).language;
  const worksheets = list(root.worksheets).flatMap((sheet) => list(fields(sheet).cells));
  const cells = Array.isArray(root.cells) ? root.cells : worksheets;
  return {
    language: typeof named === "string" ? named.toLowerCase() : "python",
    cells: cells.map(parseCell),
  };
}

function parseCell(value: unknown): Cell {
  const cell = fields(value);
  const kind = cell.cell_type === "code" || cell.cell_type === "markdown" ? cell.cell_type : "raw";
  const count = cell.execution_count ?? cell.prompt_number;
  return {
    kind,
    source: joined(cell.source ?? cell.input),
    count: typeof count === "number" ? String(count) : " ",
    outputs: kind === "code" ? list(cell.outputs).flatMap((output) => parseOutput(fields(output))) : [],
  };
}

function parseOutput(output: Fields): Output[] {
  if (output.output_type === "error" || output.output_type === "pyerr") {
    return [{ kind: "error", text: joined(output.traceback, "\n").replace(TERMINAL_CODES, "") }];
  }
  if (output.output_type === "stream") {
    return [{ kind: "text", text: joined(output.text).replace(TERMINAL_CODES, "") }];
  }
  const data = { ...output, ...fields(output.data) };
  for (const type of IMAGES) {
    const encoded = joined(data[type] ?? data[type.slice("image/".length)]);
    if (encoded && BASE64.test(encoded)) {
      return [{ kind: "image", source: `data:${type};base64,${encoded.replace(/\s/g, "")}` }];
    }
  }
  const vector = joined(data["image/svg+xml"]);
  if (vector) return [{ kind: "image", source: `data:image/svg+xml;charset=utf-8,${encodeURIComponent(wellFormed(vector))}` }];
  const html = joined(data["text/html"]);
  if (html) return [{ kind: "html", text: html }];
  const markdown = joined(data["text/markdown"]);
  if (markdown) return [{ kind: "markdown", text: markdown }];
  const plain = joined(data["text/plain"] ?? data.text);
  return plain ? [{ kind: "text", text: plain.replace(TERMINAL_CODES, "") }] : [];
}

function fields(value: unknown): Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Fields) : {};
}

function list(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}

function joined(value: unknown, separator = ""): string {
  if (Array.isArray(value)) return value.filter((line) => typeof line === "string").join(separator);
  return typeof value === "string" ? value : "";
}

/** Returns a text with a replacement character for each half of a character, which has no URL. */
function wellFormed(text: string): string {
  return text.replace(/\p{Surrogate}/gu, "\ufffd");
}
