// Highlighted code. Languages are loaded when they are needed. The highlighter's result is taken apart
// into elements and text, so that no content is ever read as HTML.

import type { LanguageFn } from "highlight.js";
import hljs from "highlight.js/lib/core";

const LOADERS = new Map<string, () => Promise<{ default: LanguageFn }>>(Object.entries({
  bash: () => import("highlight.js/lib/languages/bash"),
  c: () => import("highlight.js/lib/languages/c"),
  cpp: () => import("highlight.js/lib/languages/cpp"),
  csharp: () => import("highlight.js/lib/languages/csharp"),
  css: () => import("highlight.js/lib/languages/css"),
  diff: () => import("highlight.js/lib/languages/diff"),
  dockerfile: () => import("highlight.js/lib/languages/dockerfile"),
  go: () => import("highlight.js/lib/languages/go"),
  ini: () => import("highlight.js/lib/languages/ini"),
  java: () => import("highlight.js/lib/languages/java"),
  javascript: () => import("highlight.js/lib/languages/javascript"),
  json: () => import("highlight.js/lib/languages/json"),
  kotlin: () => import("highlight.js/lib/languages/kotlin"),
  lua: () => import("highlight.js/lib/languages/lua"),
  makefile: () => import("highlight.js/lib/languages/makefile"),
  protobuf: () => import("highlight.js/lib/languages/protobuf"),
  python: () => import("highlight.js/lib/languages/python"),
  r: () => import("highlight.js/lib/languages/r"),
  ruby: () => import("highlight.js/lib/languages/ruby"),
  rust: () => import("highlight.js/lib/languages/rust"),
  scala: () => import("highlight.js/lib/languages/scala"),
  sql: () => import("highlight.js/lib/languages/sql"),
  typescript: () => import("highlight.js/lib/languages/typescript"),
  xml: () => import("highlight.js/lib/languages/xml"),
  yaml: () => import("highlight.js/lib/languages/yaml"),
}));
const ALIASES = new Map(Object.entries({
  html: "xml",
  js: "javascript",
  py: "python",
  python3: "python",
  ipython: "python",
  sh: "bash",
  shell: "bash",
  toml: "ini",
  ts: "typescript",
  yml: "yaml",
}));
const MAX_CHARS = 200_000;
const TOKEN = /<span class="([^"]*)">|<\/span>|&(amp|lt|gt|quot|#x27);|([^<&]+)/g;
const CHARACTERS: Record<string, string> = { amp: "&", lt: "<", gt: ">", quot: '"', "#x27": "'" };

/** Returns code as a fragment of text and `span` elements; plain text in an unknown language, or if it
 * is too long. */
export async function highlight(code: string, language: string): Promise<DocumentFragment> {
  const name = ALIASES.get(language) ?? language;
  const load = code.length <= MAX_CHARS ? LOADERS.get(name) : undefined;
  const fragment = document.createDocumentFragment();
  if (!load) {
    fragment.append(code);
    return fragment;
  }
  if (!hljs.getLanguage(name)) hljs.registerLanguage(name, (await load()).default);
  const { value } = hljs.highlight(code, { language: name, ignoreIllegals: true });
  let place: Node = fragment;
  for (const [token, kinds, character, text] of value.matchAll(TOKEN)) {
    if (kinds !== undefined) {
      const span = document.createElement("span");
      span.className = kinds;
      place = place.appendChild(span);
    } else if (token === "</span>") {
      place = place.parentNode ?? fragment;
    } else {
      place.appendChild(document.createTextNode(character ? (CHARACTERS[character] ?? "") : (text ?? "")));
    }
  }
  return fragment;
}
