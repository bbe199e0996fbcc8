// The API's structures that pages name.

import type { components } from "./schema";

type Schemas = components["schemas"];

export type Commit = Schemas["Commit"];
export type Config = Schemas["Config"];
export type Diff = Schemas["Diff"];
export type ImportStatus = Schemas["ImportStatus"];
export type LoginConfig = Schemas["LoginConfig"];
export type ObjectStats = Schemas["ObjectStats"];
export type Ref = Schemas["Ref"];
export type Repository = Schemas["Repository"];
export type User = Schemas["User"];

/** A page of a listing. */
export interface Page<T> {
  pagination: { has_more: boolean; next_offset: string };
  results: T[];
}
