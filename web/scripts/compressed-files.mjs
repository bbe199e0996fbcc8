// A Vite plugin that writes a gzip and a Brotli file beside each file that compresses well, which the
// server sends as they are: nothing is compressed while pages are served.

import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { brotliCompress, constants, gzip } from "node:zlib";

const COMPRESSIBLE = /\.(?:css|html|js|json|mjs|svg|txt|wasm)$/;
const MIN_BYTES = 1024;
const [toGzip, toBrotli] = [promisify(gzip), promisify(brotliCompress)];

/** Returns the plugin. */
export function compressedFiles() {
  let folder = "";
  return {
    name: "compressed-files",
    apply: "build",
    configResolved(config) {
      folder = join(config.root, config.build.outDir);
    },
    async closeBundle() {
      const entries = await readdir(folder, { recursive: true, withFileTypes: true });
      for (const entry of entries) {
        if (!entry.isFile() || !COMPRESSIBLE.test(entry.name)) continue;
        const file = join(entry.parentPath, entry.name);
        const content = await readFile(file);
        if (content.length < MIN_BYTES) continue;
        const params = { [constants.BROTLI_PARAM_SIZE_HINT]: content.length };
        await writeFile(`${file}.gz`, await toGzip(content, { level: 9 }));
        await writeFile(`${file}.br`, await toBrotli(content, { params }));
      }
    },
  };
}
