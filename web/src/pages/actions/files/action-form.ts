// The fields of the form for action files, and the documents that it reads and writes.

/** A rule for tables, in a check; columns are a text with commas. */
export interface TableRule {
  path: string;
  unchanged: boolean;
  notNull: string;
  unique: string;
  minRows: string;
  maxRows: string;
  ranges: RangeRule[];
}

/** The bounds of a column's values: numbers, or texts such as dates. */
export interface RangeRule {
  column: string;
  min: string;
  max: string;
}

/** A rule for files, in a check; prefixes and formats are texts with commas. */
export interface FileRule {
  path: string;
  within: string;
  formats: string;
  maxSize: string;
}

export interface HookForm {
  id: string;
  type: "check" | "webhook";
  condition: string;
  url: string;
  timeout: string;
  tables: TableRule[];
  files: FileRule[];
  /** Keys of metadata that a commit must have, with commas. */
  metadata: string;
}

export interface ActionForm {
  name: string;
  description: string;
  /** Events, each with patterns of branches as a text with commas, empty for all branches. */
  events: { event: string; branches: string }[];
  hooks: HookForm[];
}

export const EVENTS = [
  "prepare-commit", "pre-commit", "post-commit", "pre-merge", "post-merge", "pre-revert", "post-revert",
  "pre-cherry-pick", "post-cherry-pick", "pre-create-branch", "post-create-branch", "pre-expire-branch",
  "pre-delete-branch", "post-delete-branch", "pre-create-tag", "post-create-tag", "pre-delete-tag", "post-delete-tag",
] as const;

type Value = string | number | boolean | null | Value[] | { [name: string]: Value };
export type Document = Record<string, Value>;

export function newTable(): TableRule {
  return { path: "", unchanged: false, notNull: "", unique: "", minRows: "", maxRows: "", ranges: [] };
}

export function newFile(): FileRule {
  return { path: "", within: "", formats: "", maxSize: "" };
}

export function newHook(): HookForm {
  return { id: "", type: "check", condition: "", url: "", timeout: "", tables: [], files: [], metadata: "" };
}

export function newAction(): ActionForm {
  return { name: "", description: "", events: [{ event: "pre-merge", branches: "main" }], hooks: [{ ...newHook(), tables: [newTable()] }] };
}

/** Returns the document of a form; fields that are empty are left out. */
export function toDocument({ name, description, events, hooks }: ActionForm): Document {
  const on = events.map(({ event, branches }): [string, Value] => [event, list(branches).length ? { branches: list(branches) } : null]);
  return given({ name, description, on: Object.fromEntries(on), hooks: hooks.map(hookDocument) }, ["on", "hooks"]);
}

function hookDocument(hook: HookForm): Document {
  const properties =
    hook.type === "webhook"
      ? given({ url: hook.url, timeout: hook.timeout })
      : given({ tables: hook.tables.map(tableDocument), files: hook.files.map(fileDocument), commit_metadata: list(hook.metadata) });
  return given({ id: hook.id, type: hook.type, if: hook.condition, properties }, ["id"]);
}

function tableDocument(rule: TableRule): Document {
  const ranges = rule.ranges.map(({ column, min, max }): [string, Value] => [column, given({ min: scalar(min), max: scalar(max) })]);
  return given(
    {
      path: rule.path,
      schema: rule.unchanged ? "unchanged" : "",
      not_null: list(rule.notNull),
      unique: list(rule.unique),
      ranges: Object.fromEntries(ranges),
      rows: given({ min: scalar(rule.minRows), max: scalar(rule.maxRows) }),
    },
    ["path"],
  );
}

function fileDocument(rule: FileRule): Document {
  return given({ path: rule.path, within: list(rule.within), formats: list(rule.formats), max_size: scalar(rule.maxSize) });
}

/** Returns the members that are not empty, and those that are required. */
function given(members: Document, required: readonly string[] = []): Document {
  const isEmpty = (value: Value): boolean => value === "" || (typeof value === "object" && value !== null && Object.keys(value).length === 0);
  return Object.fromEntries(Object.entries(members).filter(([name, value]) => required.includes(name) || !isEmpty(value)));
}

/** Returns what a form says twice, of which a document has only one. */
export function repeated({ events, hooks }: ActionForm): string {
  const twice = (names: string[]): string | undefined => names.find((name, index) => name && names.indexOf(name) !== index);
  const event = twice(events.map((each) => each.event));
  if (event) return `The event ${event} is there twice.`;
  for (const { ranges } of hooks.flatMap(({ tables }) => tables)) {
    const column = twice(ranges.map((each) => each.column));
    if (column) return `The column ${column} has two ranges.`;
  }
  return "";
}

function list(text: string): string[] {
  return text.split(",").map((item) => item.trim()).filter(Boolean);
}

/** Returns a number if a text is one that JSON spells so, else the text. */
function scalar(text: string): string | number {
  const trimmed = text.trim();
  return trimmed !== "" && String(Number(trimmed)) === trimmed && Number.isFinite(Number(trimmed)) ? Number(trimmed) : trimmed;
}

/** Returns the form of a document; undefined if it has anything that the form would lose or write otherwise. */
export function fromDocument(document: unknown): ActionForm | undefined {
  let form: ActionForm;
  try {
    form = readForm(document as Loose);
  } catch {
    return undefined; // a field has another form than the page knows
  }
  return equal(toDocument(form), document) ? form : undefined;
}

type Loose = Record<string, never> & Record<string, unknown>;

function readForm(document: Loose): ActionForm {
  const { name = "", description = "", on, hooks } = document as unknown as {
    name?: string; description?: string; on: Record<string, { branches?: string[] } | null>; hooks: Record<string, unknown>[];
  };
  return {
    name,
    description,
    events: Object.entries(on).map(([event, value]) => ({ event, branches: joined(value?.branches) })),
    hooks: hooks.map(readHook),
  };
}

function readHook(hook: Record<string, unknown>): HookForm {
  const properties = (hook.properties ?? {}) as Record<string, unknown>;
  if (hook.type !== "check" && hook.type !== "webhook") throw new Error("another type");
  return {
    id: text(hook.id),
    type: hook.type,
    condition: text(hook.if),
    url: text(properties.url),
    timeout: text(properties.timeout),
    tables: ((properties.tables ?? []) as Record<string, unknown>[]).map(readTable),
    files: ((properties.files ?? []) as Record<string, unknown>[]).map((rule) => ({
      path: text(rule.path), within: joined(rule.within), formats: joined(rule.formats), maxSize: text(rule.max_size),
    })),
    metadata: joined(properties.commit_metadata),
  };
}

function readTable(rule: Record<string, unknown>): TableRule {
  const rows = (rule.rows ?? {}) as Record<string, unknown>;
  const ranges = Object.entries((rule.ranges ?? {}) as Record<string, Record<string, unknown>>);
  return {
    path: text(rule.path),
    unchanged: rule.schema === "unchanged",
    notNull: joined(rule.not_null),
    unique: joined(rule.unique),
    minRows: text(rows.min),
    maxRows: text(rows.max),
    ranges: ranges.map(([column, { min, max }]) => ({ column, min: text(min), max: text(max) })),
  };
}

function text(value: unknown): string {
  if (value === undefined || value === null) return "";
  return typeof value === "string" ? value : JSON.stringify(value);
}

function joined(value: unknown): string {
  return value === undefined ? "" : (value as string[]).join(", ");
}

/** Whether two values of JSON are the same, whatever the order of their members. */
function equal(one: unknown, other: unknown): boolean {
  if (typeof one !== "object" || typeof other !== "object" || one === null || other === null) return one === other;
  if (Array.isArray(one) !== Array.isArray(other)) return false;
  const [ours, theirs] = [Object.entries(one), other as Record<string, unknown>];
  return ours.length === Object.keys(theirs).length && ours.every(([name, value]) => name in theirs && equal(value, theirs[name]));
}

/** Returns the form of a file that the form may write again: what people wrote into it, such as comments, would be lost
 * otherwise. */
export function editable(content: string, document: unknown): ActionForm | undefined {
  const form = fromDocument(document);
  return form && (!content.includes("#") || toYaml(toDocument(form)) === content) ? form : undefined;
}

/** Returns a document as YAML. Texts are in quotes, unless they are plain words in every version of YAML. */
export function toYaml(value: Value, indent = ""): string {
  if (Array.isArray(value)) return value.map((item) => `${indent}- ${nested(item, `${indent}  `).trimStart()}`).join("");
  return Object.entries(value as Document)
    .map(([name, member]) => `${indent}${word(name)}:${isBlock(member) ? `\n${toYaml(member, `${indent}  `)}` : ` ${inline(member)}\n`}`)
    .join("");
}

function nested(value: Value, indent: string): string {
  return isBlock(value) ? toYaml(value, indent) : `${inline(value)}\n`;
}

/** Whether a value has lines of its own: mappings, and lists of mappings. */
function isBlock(value: Value): value is Value[] | Document {
  if (Array.isArray(value)) return value.some((item) => typeof item === "object" && item !== null);
  return typeof value === "object" && value !== null && Object.keys(value).length > 0;
}

function inline(value: Value): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return `[${value.map(inline).join(", ")}]`;
  if (typeof value === "object") return "{}";
  return typeof value === "string" ? word(value) : String(value);
}

const PLAIN = /^[A-Za-z_][A-Za-z0-9_/-]*$/;
const RESERVED = /^(true|false|null|yes|no|on|off|y|n|nan|inf)$/i;

function word(content: string): string {
  if (content === "on") return content; // the key of action files, which this server and lakeFS read as a text
  // YAML knows JSON's escapes; those two characters end lines in it
  return PLAIN.test(content) && !RESERVED.test(content)
    ? content
    : JSON.stringify(content).replace(/[\u0085\u2028\u2029\ufeff\u007f-\u009f]/g, (each) => `\\u${each.charCodeAt(0).toString(16).padStart(4, "0")}`);
}
