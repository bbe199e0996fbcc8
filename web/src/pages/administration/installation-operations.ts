// What an operation of the installation has changed, in words, and what undoing it needs.

import { type Need, anyNamespace, anyRepository, namedArn } from "$/access/own-permissions";
import type { Operation } from "$/api/types";

type Setting = Operation["settings"][number];

interface Words {
  noun: string;
  added: string;
  removed: string;
  undoAdded: NeedName[];
  undoRemoved: NeedName[];
}

/** What undoing operations may need, by the action. */
export const UNDO_NEEDS = {
  createRepository: [
    { action: "fs:CreateRepository", resource: anyRepository },
    { action: "fs:AttachStorageNamespace", resource: anyNamespace },
  ],
  deleteRepository: [{ action: "fs:DeleteRepository", resource: anyRepository }],
  createPolicy: [{ action: "auth:CreatePolicy", resource: namedArn("policy") }],
  updatePolicy: [{ action: "auth:UpdatePolicy", resource: namedArn("policy") }],
  deletePolicy: [{ action: "auth:DeletePolicy", resource: namedArn("policy") }],
  createGroup: [{ action: "auth:CreateGroup", resource: namedArn("group") }],
  deleteGroup: [{ action: "auth:DeleteGroup", resource: namedArn("group") }],
  addMember: [{ action: "auth:AddGroupMember", resource: namedArn("group") }],
  removeMember: [{ action: "auth:RemoveGroupMember", resource: namedArn("group") }],
  attachToGroup: [{ action: "auth:AttachPolicy", resource: namedArn("group") }],
  detachFromGroup: [{ action: "auth:DetachPolicy", resource: namedArn("group") }],
  attachToUser: [{ action: "auth:AttachPolicy", resource: namedArn("user") }],
  detachFromUser: [{ action: "auth:DetachPolicy", resource: namedArn("user") }],
} satisfies Record<string, Need[]>;

export type NeedName = keyof typeof UNDO_NEEDS;

const KINDS: Record<string, Words> = {
  repository: { noun: "Repository", added: "created", removed: "deleted", undoAdded: ["deleteRepository"], undoRemoved: ["createRepository"] },
  policy: { noun: "Policy", added: "created", removed: "deleted", undoAdded: ["deletePolicy"], undoRemoved: ["createPolicy"] },
  group: { noun: "Group", added: "created", removed: "deleted", undoAdded: ["deleteGroup"], undoRemoved: ["createGroup"] },
  membership: { noun: "Member", added: "added", removed: "removed", undoAdded: ["removeMember"], undoRemoved: ["addMember"] },
  group_policy: { noun: "Policy of a group", added: "attached", removed: "detached", undoAdded: ["detachFromGroup"], undoRemoved: ["attachToGroup"] },
  user_policy: { noun: "Policy of a user", added: "attached", removed: "detached", undoAdded: ["detachFromUser"], undoRemoved: ["attachToUser"] },
  user: { noun: "User", added: "created", removed: "deleted", undoAdded: [], undoRemoved: [] },
};

/** Returns what has happened to a record, such as `Policy readers changed`. */
export function recordText({ kind, name, before, after }: Setting): string {
  const words = KINDS[kind];
  const done = before === null ? (words?.added ?? "created") : after === null ? (words?.removed ?? "deleted") : "changed";
  return `${words?.noun ?? kind} ${name} ${done}`;
}

/** Returns an operation in one line. */
export function recordsText(operation: Operation): string {
  return operation.settings.map(recordText).join(", ");
}

/** Returns whether the server can undo an operation: key pairs and passwords of users are not in the log. */
export function isUndoable(operation: Operation): boolean {
  return !operation.undone_at && !operation.given_up_at && !operation.settings.some(({ kind }) => kind === "user");
}

/** Returns what undoing the change of a record needs. */
export function recordNeeds({ kind, before, after }: Setting): NeedName[] {
  const words = KINDS[kind];
  if (before === null) return words?.undoAdded ?? [];
  if (after === null) return words?.undoRemoved ?? [];
  return kind === "policy" ? ["updatePolicy"] : [];
}
