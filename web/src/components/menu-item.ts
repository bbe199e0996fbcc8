// The entries of menus.

import type { IconName } from "./Icon.svelte";

/** An entry: an action or a link. */
export interface MenuItem {
  label: string;
  icon?: IconName;
  run?: () => void;
  href?: string;
  download?: boolean;
  /** Whether the link leads to another site, which opens beside this one. */
  external?: boolean;
  danger?: boolean;
  disabled?: boolean;
  /** Why it is disabled; empty or absent if that is not for want of a permission. */
  refusal?: string;
  /** Whether it is chosen: one of several, or on its own as a `switch`. */
  checked?: boolean;
  switch?: boolean;
}
