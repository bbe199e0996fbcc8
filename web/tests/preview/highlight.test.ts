// @vitest-environment jsdom
import fc from "fast-check";
import { expect, test } from "vitest";
import { highlight } from "$/preview/highlight";

const LANGUAGES = ["bash", "c", "cpp", "csharp", "css", "diff", "dockerfile", "go", "ini", "java", "javascript", "json", "kotlin", "lua", "makefile", "protobuf", "python", "r", "ruby", "rust", "scala", "sql", "typescript", "xml", "yaml", "py", "html", "toml", "unknown", "constructor", "__proto__", ""];
const code = fc
  .array(fc.oneof(fc.constantFrom("<b>", "</span>", '<span class="x">', "&amp;", "&#x27;", "&", "<", ">", "'", '"', "\n", "if", "def f():", "/*", "*/", "//", "#", "{", "}", "=", "<script>", "1.5", "`${"), fc.string({ maxLength: 5 })), { maxLength: 20 })
  .map((parts) => parts.join(""));

test.each(LANGUAGES)("code in the language %j is text and spans, and its text is the code", async (language) => {
  await fc.assert(
    fc.asyncProperty(code, async (text) => {
      const fragment = await highlight(text, language);
      expect(fragment.textContent).toBe(text);
      for (const element of fragment.querySelectorAll("*")) {
        expect(element.tagName).toBe("SPAN");
        expect(element.getAttributeNames()).toEqual(["class"]);
        expect(element.className).toMatch(/^(?:hljs-[\w-]+|language-\w+)(?: [\w-]+)*$/);
      }
    }),
    { numRuns: 15 },
  );
});

test("keywords are marked, by the name of a language or another one for it", async () => {
  for (const language of ["python", "py", "python3"]) {
    expect((await highlight("import x", language)).querySelector(".hljs-keyword")?.textContent).toBe("import");
  }
});

test("long code is plain text", async () => {
  const fragment = await highlight("import x\n".repeat(30_000), "python");
  expect(fragment.childNodes.length).toBe(1);
});
