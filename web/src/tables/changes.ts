// What differs between a table at two references, besides its rows: columns, properties, partitioning.

import type { TablePreview } from "./names";

/** A difference. A side is undefined where there is nothing of the name. */
export interface TableChange {
  what: "column" | "property" | "partitioning" | "location";
  name: string;
  kind: "added" | "removed" | "changed";
  left: string | undefined;
  right: string | undefined;
}

type Described = Pick<TablePreview, "schema" | "properties" | "partitioning" | "location">;
type Column = TablePreview["schema"][number];

/** Returns how a table differs, in the order in which it is read: columns first. */
export function tableChanges(left: Described, right: Described): TableChange[] {
  return [
    ...changes("column", columnsOf(left), columnsOf(right)),
    ...changes("partitioning", one(left.partitioning.join(", ")), one(right.partitioning.join(", "))),
    ...changes("property", new Map(Object.entries(left.properties)), new Map(Object.entries(right.properties))),
    ...changes("location", one(left.location), one(right.location)),
  ];
}

/** Returns the versions of a table on each side, with whether the other side has them, too. */
export function versionsOfSides<T extends { version: string }>(
  left: readonly T[],
  right: readonly T[],
): { left: { version: T; shared: boolean }[]; right: { version: T; shared: boolean }[] } {
  const mark = (own: readonly T[], others: readonly T[]) => {
    const known = new Set(others.map(({ version }) => version));
    return own.map((version) => ({ version, shared: known.has(version.version) }));
  };
  return { left: mark(left, right), right: mark(right, left) };
}

/** Returns a column's type, and whether each row has a value. */
export function columnText({ type, required }: Pick<Column, "type" | "required">): string {
  return required ? `${type} not null` : type;
}

function columnsOf({ schema }: Described): Map<string, string> {
  return new Map(schema.map((column) => [column.name, columnText(column)]));
}

function one(text: string): Map<string, string> {
  return new Map(text ? [["", text]] : []);
}

function changes(
  what: TableChange["what"],
  left: ReadonlyMap<string, string>,
  right: ReadonlyMap<string, string>,
): TableChange[] {
  return [...new Set([...left.keys(), ...right.keys()])].flatMap((name) => {
    const [before, after] = [left.get(name), right.get(name)];
    if (before === after) return [];
    const kind = before === undefined ? "added" : after === undefined ? "removed" : "changed";
    return [{ what, name, kind, left: before, right: after }];
  });
}
