// That Python and shells read the literals as they are meant is tested with them: tests/web/test_snippets.py.

import fc from "fast-check";
import { expect, test } from "vitest";
import { pythonString, shellWord } from "$/snippets/quoting";

const texts = fc.string({ unit: "binary" });

test("Python has escapes for what ends a string and for what is not seen", () => {
  for (const [text, literal] of [
    ["", '""'],
    ["ünï 海 🌊'", '"ünï 海 🌊\'"'],
    ['a"b\\c', String.raw`"a\"b\\c"`],
    ["line\nfeed\r\ttab\0", String.raw`"line\nfeed\r\ttab\x00"`],
    ["\u202egpj\u00a0\u2028\u{e0001}", String.raw`"\u202egpj\xa0\u2028\U000e0001"`],
    ["{x}%s$x`", '"{x}%s$x`"'],
  ] as const) {
    expect(pythonString(text)).toBe(literal);
  }
});

test("a shell has quotes for what it would read, and escapes for what is not seen", () => {
  for (const [text, word] of [
    ["lakefs://sea/main/a.csv", "lakefs://sea/main/a.csv"],
    ["", "''"],
    ["-rf", "'-rf'"],
    ["~", "'~'"],
    ["a b", "'a b'"],
    ["it's $HOME", String.raw`'it'\''s $HOME'`],
    ["line\nfeed'\\", String.raw`$'line\012feed\'\\'`],
    ["\u202egpj", String.raw`$'\342\200\256gpj'`],
  ] as const) {
    expect(shellWord(text)).toBe(word);
  }
});

test("no literal has a character that is not seen or turns the text around", () => {
  fc.assert(
    fc.property(texts, (text) => {
      expect(pythonString(text) + shellWord(text)).not.toMatch(/[\p{C}\p{Zl}\p{Zp}\u00a0]/u);
    }),
  );
});

test("a literal ends where it should: its quote occurs within it only behind a backslash", () => {
  fc.assert(
    fc.property(texts, (text) => {
      expect(pythonString(text)).toMatch(/^"(?:[^"\\]|\\.)*"$/su);
      expect(shellWord(text)).toMatch(/^(?:[\w@%+:,./=-]+|'[^']*'(?:\\''[^']*')*|\$'(?:[^'\\]|\\.)*')$/su);
    }),
  );
});
