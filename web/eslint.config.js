// What the linter checks. TypeScript is checked with its types; in components, whose types are checked by
// svelte-check, only what needs no types: to read their types takes a minute.

import js from "@eslint/js";
import svelte from "eslint-plugin-svelte";
import { defineConfig } from "eslint/config";
import globals from "globals";
import ts from "typescript-eslint";
import svelteConfig from "./svelte.config.js";

export default defineConfig(
  { ignores: ["src/api/schema.ts", "coverage/"] },
  { linterOptions: { reportUnusedDisableDirectives: "error" } },
  js.configs.recommended,
  ts.configs.strict,
  ts.configs.stylistic,
  svelte.configs.recommended,
  { languageOptions: { globals: globals.browser } },
  {
    files: ["**/*.svelte", "**/*.svelte.ts"],
    languageOptions: { parserOptions: { parser: ts.parser, svelteConfig } },
  },
  {
    files: ["**/*.ts"],
    extends: [ts.configs.strictTypeCheckedOnly, ts.configs.stylisticTypeCheckedOnly],
    languageOptions: {
      parserOptions: { projectService: true, extraFileExtensions: [".svelte"], tsconfigRootDir: import.meta.dirname },
    },
  },
  {
    // of tests, what svelte-check does not see: an expectation that nothing awaits
    files: ["tests/**/*.ts"],
    extends: [ts.configs.disableTypeChecked],
    languageOptions: { parserOptions: { projectService: true } },
    rules: {
      "@typescript-eslint/await-thenable": "error",
      "@typescript-eslint/no-floating-promises": "error",
      "@typescript-eslint/no-misused-promises": "error",
    },
  },
  { files: ["*.js", "scripts/*.mjs"], languageOptions: { globals: globals.node } },
  {
    files: ["src/**/*.ts"],
    rules: {
      // numbers in texts are meant
      "@typescript-eslint/restrict-template-expressions": ["error", { allowNumber: true }],
      // `void state` in a derived value or an effect makes it depend on the state
      "@typescript-eslint/no-meaningless-void-operator": "off",
      // `() => callback()` is the usual way to write a callback
      "@typescript-eslint/no-confusing-void-expression": ["error", { ignoreArrowShorthand: true }],
    },
  },
  {
    rules: {
      eqeqeq: "error",
      "no-console": "error",
      // `noUncheckedIndexedAccess` does not see that an index is within a list
      "@typescript-eslint/no-non-null-assertion": "off",
      // names that are needed by their place only
      "@typescript-eslint/no-unused-vars": ["error", { argsIgnorePattern: "^_", varsIgnorePattern: "^_$" }],
      // URLs, parameters and maps here are built by a function and not changed afterwards
      "svelte/prefer-svelte-reactivity": "off",
    },
  },
);
