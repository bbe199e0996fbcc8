import { mergeConfig } from "vitest/config";
import vite from "./vite.config.js";

process.env.TZ = "America/New_York"; // a zone with summer time, also where tests run in UTC

export default mergeConfig(vite, {
  resolve: { conditions: ["browser"] }, // Svelte's reactive state, as pages have it
  test: {
    include: ["tests/**/*.test.ts"],
    pool: "forks", // threads have a larger stack than pages
    environment: "node", // tests that need a document begin with `@vitest-environment jsdom`
    setupFiles: ["tests/seed.ts"],
    unstubGlobals: true,
    testTimeout: 60_000, // a busy machine makes no test fail
    coverage: {
      provider: "v8",
      include: ["src/**/*.ts"],
      exclude: ["src/api/schema.ts", "src/api/types.ts"],
      reporter: ["text", "json-summary"],
    },
  },
});
