// A Vite plugin that writes which packages' code the pages contain, for `make licenses`: packages.json
// has their names, versions and licenses, and a package's license goes where its code goes.

import { readFile } from "node:fs/promises";
import { join } from "node:path";

const FOLDER = /^\0?(.*\/node_modules\/((?:@[^/]+\/)?[^/]+))\//;

/** Returns the plugin. */
export function bundledPackages() {
  return {
    name: "bundled-packages",
    apply: "build",
    async generateBundle(_options, bundle) {
      const folders = new Map();
      for (const output of Object.values(bundle)) {
        const files = output.type === "chunk" ? output.moduleIds : (output.originalFileNames ?? []);
        for (const file of files) {
          const found = FOLDER.exec(file.replaceAll("\\", "/"));
          if (found) folders.set(found[2], found[1]);
        }
      }
      const packages = await Promise.all([...folders].map(([, folder]) => description(folder)));
      packages.sort((left, right) => (left.name < right.name ? -1 : 1));
      const source = `${JSON.stringify(packages, null, 1)}\n`;
      this.emitFile({ type: "asset", fileName: "packages.json", source });
    },
  };
}

async function description(folder) {
  const text = await readFile(join(folder, "package.json"), "utf-8");
  const { name, version, license } = JSON.parse(text);
  return { name, version, license };
}
