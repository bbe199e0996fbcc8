import { fileURLToPath } from "node:url";
import { svelte } from "@sveltejs/vite-plugin-svelte";
import { defineConfig } from "vite";
import { bundledPackages } from "./scripts/bundled-packages.mjs";
import { compressedFiles } from "./scripts/compressed-files.mjs";

const server = process.env.ANABRANCH_SERVER ?? "http://127.0.0.1:8000";
const paths = ["/api", "/oidc", "/logout", "/openapi.json", "/_health", "/_signed"];
const proxy = Object.fromEntries(paths.map((path) => [path, server]));

export default defineConfig({
  plugins: [svelte(), bundledPackages(), compressedFiles()],
  resolve: { alias: { $: fileURLToPath(new URL("./src", import.meta.url)) } },
  build: {
    outDir: "../src/anabranch/web/static",
    emptyOutDir: true,
    assetsInlineLimit: 0, // the Content-Security-Policy allows no data: scripts, fonts or styles
    target: "es2023",
    modulePreload: { polyfill: false },
  },
  server: { host: "127.0.0.1", proxy },
  preview: { host: "127.0.0.1", proxy },
});
