// What the signed-in user may do, so that pages disable what the server would refuse. The server decides
// nevertheless: without an answer, everything is offered.

import { api } from "$/api/client";

/** An action on a resource: an ARN, or one that ends in `*` for any resource whose name begins so. */
export interface Need {
  action: string;
  resource: string;
}

/** Named needs; all of those of a name have to be met. */
export type Needs = Readonly<Record<string, readonly Need[]>>;

/** Whether an action is allowed on any of its resources, and whether on all. */
export interface Permitted {
  allowed: boolean;
  all: boolean;
}

const CURRENT_MS = 60_000;
const FS = "arn:lakefs:fs:::";
const AUTH = "arn:lakefs:auth:::";

/** Any image. */
export const anyImage = `${FS}image/*`;
/** Any repository. */
export const anyRepository = `${FS}repository/*`;
/** Any storage namespace. */
export const anyNamespace = `${FS}namespace/*`;

/** Returns the resource of a repository. */
export function repositoryArn(repository: string): string {
  return `${FS}repository/${repository}`;
}

/** Returns the resource of a storage namespace. */
export function namespaceArn(namespace: string): string {
  return `${FS}namespace/${namespace}`;
}

/** Returns the resource of an object. */
export function objectArn(repository: string, path: string): string {
  return `${repositoryArn(repository)}/object/${path}`;
}

/** Returns the resource of any object whose path has a prefix. */
export function objectsBelow(repository: string, prefix = ""): string {
  return `${objectArn(repository, prefix)}*`;
}

/** Returns the resource of a branch, of any branch without a name. */
export function branchArn(repository: string, branch = "*"): string {
  return `${repositoryArn(repository)}/branch/${branch}`;
}

/** Returns the resource of any tag. */
export function anyTag(repository: string): string {
  return `${repositoryArn(repository)}/tag/*`;
}

/** Returns the resource of a user, a group or a policy; of any one without a name. */
export function namedArn(kind: "user" | "group" | "policy", name = "*"): string {
  return `${AUTH}${kind}/${name}`;
}

/** Returns the attributes of a button or field that is `disabled`, or whose action would be refused: it
 * says why. */
export function refusable(refusal: string, disabled = false): { disabled: boolean; title: string | undefined } {
  return { disabled: disabled || refusal !== "", title: refusal || undefined };
}

/** Returns what attaching policies to a user or group, and detaching them, needs. */
export function attachmentNeeds(kind: "user" | "group", name: string): { add: Need[]; remove: Need[] } {
  const resource = namedArn(kind, name);
  return { add: [{ action: "auth:AttachPolicy", resource }], remove: [{ action: "auth:DetachPolicy", resource }] };
}

/** Returns what adding members to a group, and removing them, needs; of any group without a name. */
export function membershipNeeds(group?: string): { add: Need[]; remove: Need[] } {
  const resource = namedArn("group", group);
  return { add: [{ action: "auth:AddGroupMember", resource }], remove: [{ action: "auth:RemoveGroupMember", resource }] };
}

/** Returns what creating and changing pull requests of a repository, and commenting on them, needs. */
export function pullNeeds(repository: string): Need[] {
  return [{ action: "pr:WritePullRequest", resource: repositoryArn(repository) }];
}

/** Returns what a commit to a branch needs, such as a merge. */
export function commitNeeds(repository: string, branch: string): Need[] {
  return [{ action: "fs:CreateCommit", resource: branchArn(repository, branch) }];
}

/** Returns one list of all needs, each once. */
export function distinctNeeds(needs: Needs): Need[] {
  const found = new Map(Object.values(needs).flat().map((need) => [keyOf(need), need]));
  return [...found.values()];
}

/** The answers to one request, by their needs. */
export class Answers {
  readonly #answers: ReadonlyMap<string, Permitted>;

  constructor(answers: readonly (Need & Permitted)[]) {
    this.#answers = new Map(answers.map((answer) => [keyOf(answer), answer]));
  }

  /** Returns the answer to a need, undefined without one. */
  of(need: Need): Permitted | undefined {
    return this.#answers.get(keyOf(need));
  }

  /** Returns why the server would refuse what has these needs; empty if it would not. */
  refusal(needs: readonly Need[]): string {
    const missing = needs.find((need) => this.of(need)?.allowed === false);
    return missing ? `You do not have the permission ${missing.action} for this` : "";
  }
}

/** Asks which needs the user meets, once a minute for the same needs. */
export class PermissionCache {
  readonly #asked = new Map<string, { at: number; answers: Promise<Answers> }>();
  readonly #now: () => number;

  constructor(now: () => number = Date.now) {
    this.#now = now;
  }

  /** Returns the answers for a user on a branch. Throws ApiError. */
  ask(user: string, branch: string, needs: readonly Need[]): Promise<Answers> {
    const key = JSON.stringify([user, branch, needs.map(keyOf)]);
    const now = this.#now();
    for (const [other, { at }] of this.#asked) if (now - at >= CURRENT_MS) this.#asked.delete(other);
    const known = this.#asked.get(key);
    if (known) return known.answers;
    const answers = request(branch, needs);
    this.#asked.set(key, { at: now, answers });
    answers.catch(() => this.#asked.delete(key));
    return answers;
  }
}

async function request(branch: string, needs: readonly Need[]): Promise<Answers> {
  const query = { action: needs.map(({ action }) => action), resource: needs.map(({ resource }) => resource), branch };
  return new Answers((await api.get("/user/permissions", { query })).results);
}

function keyOf({ action, resource }: Need): string {
  return `${action} ${resource}`;
}
