// @vitest-environment jsdom
// Hostile HTML: what is left is looked at as elements, not as text.

import fc from "fast-check";
import { expect, test } from "vitest";
import { type Resolver, sanitize } from "$/preview/sanitize";

const resolver: Resolver = {
  image: (source) => (source.startsWith("data:image/png") ? source : undefined),
  link: (target) => (/^https?:/.test(target) || target.startsWith("/own") ? target : undefined),
};

/** Elements that run, load, ask, or take the place of the page. */
const FORBIDDEN = "script, style, link, meta, base, iframe, frame, object, embed, form, input, button, textarea, select, dialog, audio, video, source, picture, svg, math, template, map, area, noscript, slot, portal";
/** Attributes that load, or lead somewhere; others do so on elements that are forbidden. */
const LOADING = ["srcset", "background", "poster", "formaction", "action", "ping", "xlink:href", "style", "id", "name", "class", "is", "srcdoc"];

function faultsOf(fragment: DocumentFragment): string[] {
  const faults = [...fragment.querySelectorAll(FORBIDDEN)].map((element) => element.tagName);
  for (const element of fragment.querySelectorAll("*")) {
    for (const { name, value } of element.attributes) {
      // on other elements, these two load nothing and lead nowhere
      const isForeign =
        (name === "href" && element.tagName === "A" && resolver.link(value) !== value) ||
        (name === "src" && element.tagName === "IMG" && resolver.image(value) !== value);
      if (name.startsWith("on") || LOADING.includes(name) || isForeign) faults.push(`${element.tagName} ${name}=${value}`);
    }
  }
  return faults;
}

function shown(html: string): string {
  const element = document.createElement("div");
  element.append(sanitize(html, resolver));
  return element.innerHTML;
}

test.each([
  "<script>alert(1)</script>",
  "<img src=x onerror=alert(1)>",
  "<svg><script>alert(1)</script></svg>",
  "<svg onload=alert(1)>",
  "<math><mtext><table><mglyph><style><!--</style><img title='--&gt;&lt;img src=1 onerror=alert(1)&gt;'>",
  "<form><math><mtext></form><form><mglyph><style></math><img src onerror=alert(1)>",
  "<a href='java\tscript:alert(1)'>x</a>",
  "<a href='\u0001javascript:alert(1)'>x</a>",
  "<a href='data:text/html,<script>alert(1)</script>'>x</a>",
  "<a href='//evil.test'>x</a>",
  "<iframe srcdoc='<script>alert(1)</script>'></iframe>",
  "<object data=x></object><embed src=x>",
  "<base href=//evil.test><meta http-equiv=refresh content='0;url=//evil.test'>",
  "<link rel=stylesheet href=//evil.test/x.css>",
  "<style>@import '//evil.test'</style>",
  "<p style='background:url(//evil.test)'>x</p>",
  "<table background=//evil.test><td background=//evil.test>x</table>",
  "<img src=//evil.test/x.png srcset='//evil.test/y.png 2x'>",
  "<input type=image src=//evil.test/x onfocus=alert(1) autofocus>",
  "<video poster=//evil.test/x><source src=//evil.test/y></video>",
  "<form action=//evil.test><button formaction=//evil.test>x</button></form>",
  "<div id=app class=dialog name=body tabindex=1 accesskey=s>x</div>",
  "<img name=getElementById><a id=location href=//evil.test>x</a>",
  "<noscript><p title='</noscript><img src=x onerror=alert(1)>'></noscript>",
  "<template><img src=x onerror=alert(1)></template>",
  "<dialog open>x</dialog><label for=app>x</label>",
])("nothing of %s is left that could do harm", (html) => {
  expect(faultsOf(sanitize(html, resolver))).toEqual([]);
});

const part = fc.constantFrom(
  ...["<", ">", "</", "/>", "<!--", "-->", "<![CDATA[", "]]>", "'", '"', "`", "=", " ", "\n", "\0", "&lt;", "&#x6a;", "x"],
  ...["<svg>", "</svg>", "<math>", "<mtext>", "<mglyph>", "<style>", "</style>", "<title>", "<noscript>", "</noscript>", "<table>", "<td>", "<form>", "<p>", "<template>", "<select>", "<option>", "<annotation-xml encoding='text/html'>", "<foreignObject>", "<desc>"],
  ...["<img ", "<a ", "<iframe ", "<script>", "alert(1)", "</script>", "src=", "href=", "onerror=alert(1) ", "onload=alert(1)>", "javascript:alert(1)", "data:text/html,x", "data:image/png;base64,QQ==", "//evil.test", "/own/page", "https://a.test", "id=app ", "style='x' ", "xlink:href="],
);

test("nothing harmful is left of pieces in any order", () => {
  fc.assert(
    fc.property(fc.array(part, { maxLength: 25 }), (parts) => {
      const fragment = sanitize(parts.join(""), resolver);
      expect(faultsOf(fragment)).toEqual([]);
      // serialized and read again, it is as harmless
      const element = document.createElement("div");
      element.append(fragment);
      const again = document.createElement("template");
      again.innerHTML = element.innerHTML;
      expect(faultsOf(again.content)).toEqual([]);
    }),
    { numRuns: 200 },
  );
});

test("text, tables and links stay as they are", () => {
  const html = "<h2>a</h2><p>b <b>c</b></p><table><tbody><tr><td>1</td></tr></tbody></table>";
  expect(shown(html)).toBe(html);
  expect(shown('<a href="/own/x" target="_top">x</a>')).toBe('<a href="/own/x">x</a>');
  expect(shown('<a href="/evil" download="">x</a>')).toBe("<a>x</a>");
});

test("links to elsewhere open beside the page, and do not tell where they were followed", () => {
  expect(shown('<a href="https://a.test">x</a>')).toBe('<a href="https://a.test" target="_blank" rel="noopener noreferrer nofollow">x</a>');
});

test("an image from elsewhere is replaced by its description", () => {
  expect(shown('<img src="https://a.test/x.png" alt="a <b>">')).toBe("<em>[image from elsewhere: a &lt;b&gt;]</em>");
  expect(shown("<img src=x>")).toBe("<em>[image from elsewhere: without a description]</em>");
  expect(shown('<img src="data:image/png;base64,QQ==">')).toBe('<img src="data:image/png;base64,QQ==" loading="lazy" alt="">');
});

test("only code keeps a class, which names its language", () => {
  expect(shown('<code class="language-c++">x</code>')).toBe('<code class="language-c++">x</code>');
  expect(shown('<code class="language-x dialog">x</code><p class="language-x">y</p>')).toBe("<code>x</code><p>y</p>");
});
