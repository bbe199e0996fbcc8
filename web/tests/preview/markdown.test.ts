// @vitest-environment jsdom
import fc from "fast-check";
import { expect, test } from "vitest";
import { renderMarkdown, resolve } from "$/preview/markdown";

const at = { repository: "sea", reference: "main", path: "docs/guide/README.md" };

async function html(text: string): Promise<string> {
  const element = document.createElement("div");
  element.append(await renderMarkdown(text, at));
  return element.innerHTML.trim();
}

const segment = fc.oneof(fc.constantFrom(".", "..", "a", "b"), fc.string({ minLength: 1, maxLength: 3 }).map(encodeURIComponent));

test("links are resolved as a browser resolves them below the repository", () => {
  fc.assert(
    fc.property(fc.array(segment, { minLength: 1, maxLength: 5 }), fc.boolean(), fc.constantFrom("", "?x", "#y"), (segments, isRooted, end) => {
      const link = (isRooted ? "/" : "") + segments.join("/") + end;
      // the name of a segment may not be one that means another after it is decoded
      fc.pre(!segments.some((name) => /%2F|%3F|%23|%5C/i.test(name)) && !/^[a-z][a-z+.-]*:/i.test(link));
      const expected = new URL(link, "http://server.test/docs/guide/README.md").pathname.slice(1);
      expect(resolve(link, at)).toEqual({ ...at, path: decodeURIComponent(expected) });
    }),
  );
});

test("lakefs:// addresses name any repository, and other schemes and anchors nothing", () => {
  expect(resolve("lakefs://other/v1/a%20b/c", at)).toEqual({ repository: "other", reference: "v1", path: "a b/c" });
  expect(["https://a.test/x", "//a.test/x", "#top", "", "javascript:alert(1)", "mailto:a@b"].map((link) => resolve(link, at))).toEqual(Array(6).fill(undefined));
});

test("links lead to pages of objects and folders, and headings stand below the page's own", async () => {
  expect(await html("[x](../a.csv) [y](data/)")).toBe(
    '<p><a href="/repositories/sea/object?ref=main&amp;path=docs%2Fa.csv">x</a> <a href="/repositories/sea/objects?ref=main&amp;path=docs%2Fguide%2Fdata%2F">y</a></p>',
  );
  expect(await html("# a\n\n###### b")).toBe("<h2>a</h2>\n<h6>b</h6>");
});

test("images of the repository are loaded, and none from elsewhere", async () => {
  expect(await html("![a](x.png)")).toContain('src="/api/v1/repositories/sea/refs/main/objects?path=docs%2Fguide%2Fx.png"');
  expect(await html("![a](data:image/png;base64,QQ==)")).toContain('src="data:image/png;base64,QQ=="');
  for (const source of ["https://evil.test/x.png", "//evil.test/x.png", "data:image/svg+xml,<svg/>"]) {
    expect(await html(`![a](<${source}>)`)).not.toContain("<img");
  }
});

test("HTML is text, and harmful links lead nowhere", async () => {
  expect(await html("<script>alert(1)</script><b>x</b>")).toBe("<p>&lt;script&gt;alert(1)&lt;/script&gt;&lt;b&gt;x&lt;/b&gt;</p>");
  for (const target of ["javascript:alert(1)", "JaVaScript:alert(1)", "data:text/html,x", "vbscript:x", "file:///etc/passwd"]) {
    expect(await html(`[x](<${target}>)`)).not.toContain("href");
  }
});

test("code is highlighted in its language", async () => {
  expect(await html("```py\nimport x\n```")).toContain('<span class="hljs-keyword">import</span>');
});
