// Retention rules as JSON.

import type { GarbageCollectionRules } from "$/api/types";

const EXAMPLE = '{"default_retention_days": 21, "branches": [{"branch_id": "main", "retention_days": 28}]}';

/** Returns the rules that a text has. Throws an Error that says what is wrong. */
export function parseRules(text: string): GarbageCollectionRules {
  const value: unknown = JSON.parse(text);
  const rules = value as Partial<GarbageCollectionRules> | null;
  const branches = rules?.branches ?? [];
  const isValid =
    typeof rules?.default_retention_days === "number" &&
    Array.isArray(branches) &&
    branches.every((rule: Partial<(typeof branches)[number]> | null) => typeof rule?.branch_id === "string" && typeof rule.retention_days === "number");
  if (!isValid) throw new Error(`The rules do not look like ${EXAMPLE}`);
  return { default_retention_days: rules.default_retention_days!, branches };
}
