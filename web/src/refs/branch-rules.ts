// Rules for the branches of a repository, such as those that protect them. They are replaced as a whole, on
// the condition that nobody else has changed them since they were read.

import { api, apiUrl, send } from "$/api/client";
import type { BranchEndRule, BranchProtectionRule } from "$/api/types";
import { toPattern } from "./branch-pattern";

const PATHS = {
  protection: "/repositories/{repository}/settings/branch_protection",
  ends: "/repositories/{repository}/settings/branch_ends",
} as const;

interface Kinds {
  protection: BranchProtectionRule;
  ends: BranchEndRule;
}

/** What rules are for. */
export type Kind = keyof Kinds;

/** A rule of a kind. */
export type Rule<K extends Kind> = Kinds[K];

/** Rules in order, and what identifies this state of them. */
export interface BranchRules<K extends Kind> {
  rules: Rule<K>[];
  etag: string;
}

/** Returns the rules of a repository. */
export async function loadRules<K extends Kind>(kind: K, repository: string, signal?: AbortSignal): Promise<BranchRules<K>> {
  return send(apiUrl(PATHS[kind], { repository }), { signal: signal ?? null }, async (response) => ({
    rules: (await response.json()) as Rule<K>[],
    etag: response.headers.get("ETag") ?? "",
  }));
}

/** Replaces the rules. Throws ApiError, with status 412 if they have changed since they were read. */
export async function saveRules<K extends Kind>(kind: K, repository: string, rules: Rule<K>[], etag: string): Promise<void> {
  const path = PATHS[kind] as (typeof PATHS)["ends"]; // of all kinds, the body is a list of rules
  await api.put(path, { path: { repository }, body: rules as Rule<"ends">[], headers: { "If-Match": etag } });
}

/** Returns the first rule that matches a branch, if one does. */
export function ruleOf<R extends { pattern: string }>(branch: string, rules: readonly R[]): R | undefined {
  return rules.find(({ pattern }) => toPattern(pattern).test(branch));
}
