// Markdown as harmless elements. Raw HTML in it is shown as text. Links and images are relative to the
// object, or `lakefs://` addresses; images from elsewhere are not loaded.

import MarkdownIt from "markdown-it";
import { contentUrl } from "$/api/objects";
import { folderOf } from "$/format/addresses";
import { links } from "$/router/links";
import type { ObjectAddress } from "./content";
import { highlight } from "./highlight";
import { sanitize } from "./sanitize";

const parser = new MarkdownIt({ html: false, linkify: true });
parser.validateLink = (url) => !/^(?:javascript|vbscript|file):/i.test(url.trim());

// the page has its own first heading
for (const rule of ["heading_open", "heading_close"]) {
  parser.renderer.rules[rule] = (tokens, index, options, _, renderer) => {
    const token = tokens[index];
    if (token) token.tag = `h${Math.min(6, Number(token.tag.slice(1)) + 1)}`;
    return renderer.renderToken(tokens, index, options);
  };
}

const INLINE_IMAGE = /^data:image\/(?:png|jpeg|gif|webp);base64,[A-Za-z0-9+/=\s]+$/;
const SCHEME = /^[a-z][a-z0-9+.-]*:/i;
const LAKE = /^lakefs:\/\/([^/]+)\/([^/]+)\/(.+)$/;

/** Returns Markdown as a fragment. */
export async function renderMarkdown(text: string, at: ObjectAddress): Promise<DocumentFragment> {
  const fragment = sanitize(parser.render(text), {
    image: (source) => {
      if (INLINE_IMAGE.test(source)) return source;
      const found = resolve(source, at);
      return found && contentUrl(found.repository, found.reference, found.path);
    },
    link: (target) => {
      if (/^(?:https?|mailto):/i.test(target)) return target;
      const found = resolve(target, at);
      if (!found) return undefined;
      return found.path.endsWith("/") || !found.path
        ? links.objects(found.repository, found.reference, found.path)
        : links.object(found.repository, found.reference, found.path);
    },
  });
  for (const code of fragment.querySelectorAll<HTMLElement>("code[class]")) {
    const language = code.className.slice("language-".length);
    code.replaceChildren(await highlight(code.textContent, language));
  }
  return fragment;
}

/** Returns the object that a link names, undefined for other links. */
export function resolve(link: string, at: ObjectAddress): ObjectAddress | undefined {
  const lake = LAKE.exec(link);
  if (lake) {
    const [, repository = "", reference = "", path = ""] = lake;
    return { repository, reference, path: decodeUri(path) };
  }
  if (!link || SCHEME.test(link) || link.startsWith("//") || link.startsWith("#")) return undefined;
  const [bare = ""] = link.split(/[?#]/);
  const segments = bare.startsWith("/") ? [] : folderOf(at.path).split("/").slice(0, -1);
  for (const segment of decodeUri(bare).split("/")) {
    if (segment === "..") segments.pop();
    else if (segment && segment !== ".") segments.push(segment);
  }
  const path = segments.join("/") + (/(?:^|\/)\.{0,2}$/.test(bare) && segments.length ? "/" : "");
  return { ...at, path };
}

function decodeUri(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
