// How an object is shown: by the extension of its name, then by its content type.

/** What shows an object. `unknown` is text or bytes, by its first bytes. */
export type Kind =
  | "table"
  | "text"
  | "json"
  | "markdown"
  | "html"
  | "image"
  | "vector"
  | "pdf"
  | "notebook"
  | "map"
  | "unknown";

const EXTENSIONS: Record<Exclude<Kind, "unknown" | "text">, string[]> = {
  table: [
    ...["parquet", "parq", "pq", "csv", "tsv", "tab", "psv", "jsonl", "ndjson"],
    ...["orc", "arrow", "arrows", "feather", "ipc", "avro"],
  ],
  json: ["json"],
  markdown: ["md", "markdown", "mkd"],
  html: ["html", "htm", "xhtml"],
  image: ["png", "jpg", "jpeg", "gif", "webp", "bmp", "avif", "ico"],
  vector: ["svg"],
  pdf: ["pdf"],
  notebook: ["ipynb"],
  map: ["geojson"],
};

const TYPES = new Map<string, Kind>(Object.entries({
  "application/geo+json": "map",
  "application/json": "json",
  "application/pdf": "pdf",
  "application/x-ipynb+json": "notebook",
  "application/vnd.apache.parquet": "table",
  "application/x-parquet": "table",
  "text/csv": "table",
  "text/html": "html",
  "text/markdown": "markdown",
  "image/svg+xml": "vector",
} as const));

/** Languages that are highlighted, by extension; a name without one stands for itself. */
const LANGUAGES = new Map(Object.entries({
  bash: "bash",
  c: "c",
  cc: "cpp",
  cfg: "ini",
  conf: "ini",
  cpp: "cpp",
  cs: "csharp",
  css: "css",
  diff: "diff",
  dockerfile: "dockerfile",
  go: "go",
  h: "cpp",
  hcl: "ini",
  ini: "ini",
  java: "java",
  js: "javascript",
  json: "json",
  jsx: "javascript",
  kt: "kotlin",
  lakefile: "dockerfile",
  lua: "lua",
  makefile: "makefile",
  mjs: "javascript",
  patch: "diff",
  properties: "ini",
  proto: "protobuf",
  py: "python",
  r: "r",
  rb: "ruby",
  rs: "rust",
  scala: "scala",
  sh: "bash",
  sql: "sql",
  svg: "xml",
  tf: "ini",
  toml: "ini",
  ts: "typescript",
  tsx: "typescript",
  xml: "xml",
  yaml: "yaml",
  yml: "yaml",
  zsh: "bash",
}));
const PLAIN = new Set(["txt", "text", "log", "rst", "gitignore", "env", "lock", "license", "readme"]);
const KINDS = new Map(
  Object.entries(EXTENSIONS).flatMap(([kind, names]) => names.map((name) => [name, kind as Kind])),
);

function extensions(path: string): string[] {
  const name = path.slice(path.lastIndexOf("/") + 1).toLowerCase();
  const parts = name.split(".");
  // `flights.csv.gz`: what is compressed, before how
  return /\.(?:csv|tsv|tab|psv|jsonl?|ndjson)\.(?:gz|bz2|zst)$/.test(name) ? ["csv"] : [parts.at(-1) ?? ""];
}

/** Formats of tables that are chosen by hand, with their labels. */
export const TABLE_FORMATS = [
  ["csv", "CSV"],
  ["tsv", "TSV"],
  ["psv", "PSV"],
  ["jsonl", "JSON lines"],
  ["json", "JSON"],
  ["parquet", "Parquet"],
  ["orc", "ORC"],
  ["arrow", "Arrow"],
  ["avro", "Avro"],
] as const;

/** The name of such a format, empty where the name of the file says it. */
export type TableFormat = (typeof TABLE_FORMATS)[number][0] | "";

/** Returns the format with a name, empty for others. */
export function tableFormat(name: string | null): TableFormat {
  return TABLE_FORMATS.find(([known]) => known === name)?.[0] ?? "";
}

/** Returns how an object is shown. */
export function kindOf(path: string, contentType: string): Kind {
  const [extension = ""] = extensions(path);
  const known = KINDS.get(extension);
  if (known) return known;
  if (LANGUAGES.has(extension) || PLAIN.has(extension)) return "text";
  const type = contentType.split(";")[0]?.trim().toLowerCase() ?? "";
  return TYPES.get(type) ?? (type.startsWith("image/") ? "image" : type.startsWith("text/") ? "text" : "unknown");
}

/** Returns the language of a path's content, the empty string for plain text. */
export function languageOf(path: string): string {
  return LANGUAGES.get(extensions(path)[0] ?? "") ?? (/\.html?$/i.test(path) ? "xml" : "");
}
