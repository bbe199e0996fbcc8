// The pages of images.

import type { Route } from "../router/match";

export const IMAGE_ROUTES: readonly Route[] = [
  { pattern: "/images", load: () => import("../pages/images/Images.svelte") },
  { pattern: "/images/build", load: () => import("../pages/images/BuildImage.svelte") },
  { pattern: "/images/tags/:tag", load: () => import("../pages/images/Image.svelte") },
];
