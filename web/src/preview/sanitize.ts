// HTML of users, reduced to what cannot run, load anything from elsewhere, or take the place of parts of
// the page: no scripts, styles, forms, frames, names or classes.

import DOMPurify, { type Config } from "dompurify";

/** Returns the URL that an element may load or lead to, and undefined to drop it. */
export interface Resolver {
  image: (source: string) => string | undefined;
  link: (target: string) => string | undefined;
}

const CONFIG: Config = {
  USE_PROFILES: { html: true },
  FORBID_TAGS: [
    ...["style", "form", "input", "button", "textarea", "select", "option", "label", "dialog"],
    ...["audio", "video", "source", "track", "map", "area", "picture", "marquee", "center", "font"],
    ...["template", "slot"], // what is in a template would not be looked at below
  ],
  FORBID_ATTR: ["style", "id", "name", "srcset", "background", "tabindex", "accesskey", "slot", "is"],
  ALLOW_DATA_ATTR: false,
  ALLOW_ARIA_ATTR: false,
  // links and images are checked by the resolver, also with the scheme lakefs
  ALLOWED_URI_REGEXP: /^(?:https?:|mailto:|lakefs:|data:image\/|[^a-z]|[a-z+.-]+(?:[^a-z+.:-]|$))/i,
};
const LANGUAGE_CLASS = /^language-[\w+#-]{1,40}$/;
const OWN_PATH = /^\/(?![/\\])/;

/** Returns what is harmless in some HTML, as a fragment. */
export function sanitize(html: string, resolver: Resolver): DocumentFragment {
  const fragment = DOMPurify.sanitize(html, { ...CONFIG, RETURN_DOM_FRAGMENT: true });
  for (const element of fragment.querySelectorAll("*")) {
    const kept = element.tagName === "CODE" && LANGUAGE_CLASS.test(element.className);
    if (!kept) element.removeAttribute("class");
  }
  for (const image of fragment.querySelectorAll("img")) replaceImage(image, resolver);
  for (const link of fragment.querySelectorAll("a")) replaceLink(link, resolver);
  return fragment;
}

function replaceImage(image: HTMLImageElement, resolver: Resolver): void {
  const source = resolver.image(image.getAttribute("src") ?? "");
  if (source === undefined) {
    const note = document.createElement("em");
    note.textContent = `[image from elsewhere: ${image.alt || "without a description"}]`;
    image.replaceWith(note);
  } else {
    image.setAttribute("src", source);
    image.setAttribute("loading", "lazy");
    if (!image.hasAttribute("alt")) image.alt = "";
  }
}

function replaceLink(link: HTMLAnchorElement, resolver: Resolver): void {
  const target = resolver.link(link.getAttribute("href") ?? "");
  link.removeAttribute("target");
  link.removeAttribute("download");
  if (target === undefined) {
    link.removeAttribute("href");
    return;
  }
  link.setAttribute("href", target);
  if (!OWN_PATH.test(target)) {
    link.setAttribute("target", "_blank");
    link.setAttribute("rel", "noopener noreferrer nofollow");
  }
}
