// The rules that protect branches. They are replaced as a whole, on the condition that nobody else has
// changed them since they were read.

import { api, apiUrl, send } from "$/api/client";
import type { BranchProtectionRule } from "$/api/types";
import { toPattern } from "./branch-pattern";

const RULES = "/repositories/{repository}/settings/branch_protection";

/** Rules, and what identifies this state of them. */
export interface ProtectionRules {
  rules: BranchProtectionRule[];
  etag: string;
}

/** Returns the rules of a repository. */
export async function loadRules(repository: string, signal?: AbortSignal): Promise<ProtectionRules> {
  return send(apiUrl(RULES, { repository }), { signal: signal ?? null }, async (response) => ({
    rules: (await response.json()) as BranchProtectionRule[],
    etag: response.headers.get("ETag") ?? "",
  }));
}

/** Replaces the rules. Throws ApiError, with status 412 if they have changed since they were read. */
export async function saveRules(repository: string, rules: BranchProtectionRule[], etag: string): Promise<void> {
  await api.put(RULES, { path: { repository }, body: rules, headers: { "If-Match": etag } });
}

/** Returns the rule that protects a branch, if one does. */
export function ruleOf(branch: string, rules: readonly BranchProtectionRule[]): BranchProtectionRule | undefined {
  return rules.find(({ pattern }) => toPattern(pattern).test(branch));
}
