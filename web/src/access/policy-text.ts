// Policies as text: JSON that is written, and sentences about what it allows.

import type { Policy } from "$/api/types";
import type { Problem } from "$/components/code-problem";
import { jsonFault } from "./json-fault";

type Statement = Policy["statement"][number];

/** A statement in words. */
export interface Sentence {
  allows: boolean;
  actions: string[];
  resources: string[];
  conditions: string[];
}

/** What a new policy begins with. */
export const EXAMPLE = `[
  {
    "effect": "allow",
    "action": ["fs:ReadRepository", "fs:ListObjects", "fs:ReadObject"],
    "resource": ["arn:lakefs:fs:::repository/example", "arn:lakefs:fs:::repository/example/object/*"]
  }
]
`;

/** Returns the statements of a policy as they are edited: lists of resources are lists there. */
export function toText(policy: Policy): string {
  const statements = policy.statement.map((statement) => {
    const resources = resourcesOf(statement.resource);
    return { ...statement, resource: resources.length === 1 ? resources[0] : resources };
  });
  return `${JSON.stringify(statements, null, 2)}\n`;
}

/** Returns the statements that a text has, or what is wrong with it. */
export function parseStatements(text: string): { statements: Statement[]; problems: Problem[] } {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    const line = text.slice(0, jsonFault(text)).split("\n").length;
    return { statements: [], problems: [{ line, message: (error as Error).message }] };
  }
  const list = Array.isArray(value) ? value : (value as { statement?: unknown } | null)?.statement;
  if (!Array.isArray(list)) {
    return { statements: [], problems: [{ line: 1, message: "expected a list of statements" }] };
  }
  const problems: Problem[] = [];
  const statements = list.map((item: Record<string, unknown> | null, index): Statement => {
    const wrong = faultOf(item);
    if (wrong) problems.push({ line: lineOfStatement(text, index), message: `statement ${index + 1}: ${wrong}` });
    const resource = item?.resource;
    return { ...(item as Statement), resource: typeof resource === "string" ? resource : JSON.stringify(resource) };
  });
  return { statements: problems.length ? [] : statements, problems };
}

function faultOf(item: Record<string, unknown> | null): string {
  if (item === null || typeof item !== "object") return "expected an object";
  if (item.effect !== "allow" && item.effect !== "deny") return '`effect` must be "allow" or "deny"';
  const isList = Array.isArray(item.action) && item.action.length > 0 && item.action.every((name) => typeof name === "string");
  if (!isList) return "`action` must be a list of names, such as fs:ReadObject";
  const resources = Array.isArray(item.resource) ? item.resource : [item.resource];
  const areNames = resources.length > 0 && resources.every((name) => typeof name === "string" && name !== "");
  return areNames ? "" : "`resource` must be an ARN, a list of ARNs, or *";
}

/** Returns the line on which a statement begins: the brace of that number at the first level of objects. */
function lineOfStatement(text: string, index: number): number {
  let [line, depth, seen, quoted] = [1, 0, -1, false];
  const first = text.trimStart().startsWith("{") ? 1 : 0;
  for (let at = 0; at < text.length; at += 1) {
    const character = text[at];
    if (character === "\n") line += 1;
    if (character === "\\" && quoted) at += 1;
    else if (character === '"') quoted = !quoted;
    else if (quoted) continue;
    else if (character === "}") depth -= 1;
    else if (character === "{") {
      if (depth === first && (seen += 1) === index) return line;
      depth += 1;
    }
  }
  return 1;
}

/** Returns the resources of a statement, which may be a JSON list as text. */
export function resourcesOf(resource: string): string[] {
  if (!resource.startsWith("[")) return [resource];
  try {
    const list: unknown = JSON.parse(resource);
    return Array.isArray(list) ? list.map(String) : [resource];
  } catch {
    return [resource];
  }
}

/** Returns statements in words. */
export function explainStatements(statements: readonly Statement[]): Sentence[] {
  return statements.map((statement) => ({
    allows: statement.effect === "allow",
    actions: statement.action.map(actionText),
    resources: resourcesOf(statement.resource).map(resourceText),
    conditions: Object.entries(statement.condition ?? {}).flatMap(([operator, fields]) =>
      Object.entries(fields).map(([field, values]) => `${FIELDS.get(field) ?? field} ${OPERATORS.get(operator) ?? operator} ${values.join(" or ")}`),
    ),
  }));
}

const FIELDS = new Map([["lakefs:branch", "the branch"]]);

const AREAS = new Map(Object.entries({
  fs: "data",
  auth: "users and permissions",
  ci: "hooks",
  retention: "retention",
  branches: "branch protection",
  pr: "pull requests",
}));

const OPERATORS = new Map(Object.entries({
  IpAddress: "is in",
  NotIpAddress: "is not in",
  StringEquals: "is",
  StringNotEquals: "is not",
  StringLike: "is like",
  StringNotLike: "is not like",
  DateGreaterThan: "is after",
  DateLessThan: "is before",
}));

function actionText(action: string): string {
  if (action === "*") return "everything";
  const [area = "", name = ""] = action.split(":", 2);
  if (action === "fs:*") return "everything about data, not pull requests";
  if (name === "*") return `everything about ${AREAS.get(area) ?? area}`;
  const verb = /^([A-Za-z]+)\*$/.exec(name)?.[1];
  if (verb && AREAS.has(area)) return `${verb.toLowerCase()} anything about ${AREAS.get(area)}`;
  if (/[*?]/.test(action)) return `what ${action} matches`;
  return name.replace(/([a-z])([A-Z])/g, "$1 $2").toLowerCase();
}

function resourceText(resource: string): string {
  if (resource === "*") return "everything";
  const [, , service = "", , , ...rest] = resource.split(":");
  const name = rest.join(":");
  if (name === "*") return service === "auth" ? "all users, groups and policies" : "all repositories and what is in them";
  const [kind = "", first = "", part = "", ...path] = name.split("/");
  const named = (noun: string, value: string) => (value === "*" ? `every ${noun}` : `${noun} ${value}`);
  if (kind === "namespace") return named("storage namespace", name.slice("namespace/".length));
  if (kind !== "repository" || !part) return named(kind || resource, first || "*");
  return `${named(part, path.join("/"))} in ${named("repository", first)}`;
}
