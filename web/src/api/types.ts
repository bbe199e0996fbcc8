// The API's structures that pages name.

import type { components } from "./schema";

type Schemas = components["schemas"];

export type ActionRun = Schemas["ActionRun"];
export type BranchProtectionRule = Schemas["BranchProtectionRule"];
export type Commit = Schemas["Commit"];
export type Config = Schemas["Config"];
export type Conflict = Schemas["ConflictEntry"];
export type CredentialsWithSecret = Schemas["CredentialsWithSecret"];
export type BranchEndRule = Schemas["BranchEndRule"];
export type DeletedRepository = Schemas["DeletedRepository"];
export type Diff = Schemas["Diff"];
export type GarbageCollectionRules = Schemas["GarbageCollectionRules"];
export type Group = Schemas["Group"];
export type HookRun = Schemas["HookRun"];
export type Image = Schemas["ImageDescription"];
export type ImagePreview = Schemas["ImagePreview"];
export type LoginConfig = Schemas["LoginConfig"];
export type MergeOptions = Schemas["Merge"];
export type MergeResult = Schemas["MergeResult"];
export type ObjectStats = Schemas["ObjectStats"];
export type Operation = Schemas["OperationRecord"];
export type Policy = Schemas["Policy"];
export type PullRequest = Schemas["PullRequest"];
export type PullRequestComment = Schemas["PullRequestComment"];
export type PullRequestReview = Schemas["PullRequestReview"];
export type PullRequestReviewer = Schemas["PullRequestReviewer"];
export type Ref = Schemas["Ref"];
export type RepositoryNotification = Schemas["RepositoryNotification"];
export type Repository = Schemas["Repository"];
export type User = Schemas["User"];

/** A page of a listing. */
export interface Page<T> {
  pagination: { has_more: boolean; next_offset: string };
  results: T[];
}
