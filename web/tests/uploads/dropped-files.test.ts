import { expect, test } from "vitest";
import { chosenFiles, droppedFiles } from "$/uploads/dropped-files";

interface Tree {
  [name: string]: Tree | string;
}

/** Returns an entry as a browser gives it: a reader of a folder gives two entries at a time. */
function entry(name: string, content: Tree | string, above = ""): FileSystemEntry {
  const fullPath = `${above}/${name}`;
  if (typeof content === "string") {
    const file = (resolve: (file: File) => void) => resolve(new File([content], name));
    return { isFile: true, isDirectory: false, name, fullPath, file } as unknown as FileSystemEntry;
  }
  const createReader = () => {
    const left = Object.entries(content).map(([child, value]) => entry(child, value, fullPath));
    return { readEntries: (resolve: (entries: FileSystemEntry[]) => void) => resolve(left.splice(0, 2)) };
  };
  return { isFile: false, isDirectory: true, name, fullPath, createReader } as unknown as FileSystemEntry;
}

function drop(...items: { entry?: FileSystemEntry; file?: File }[]): DataTransfer {
  const list = items.map((item) => ({ webkitGetAsEntry: () => item.entry ?? null, getAsFile: () => item.file ?? null }));
  return { items: list } as unknown as DataTransfer;
}

test("the files of dropped folders have their paths below the drop", async () => {
  const folder = entry("2024", { "a.csv": "1", "b.csv": "2", deep: { empty: {}, "c.csv": "3" }, "d.csv": "4", "e.csv": "5" });
  const files = await droppedFiles(drop({ entry: folder }, { entry: entry("x.txt", "6") }));
  expect(files.map(({ path }) => path)).toEqual(["2024/a.csv", "2024/b.csv", "2024/deep/c.csv", "2024/d.csv", "2024/e.csv", "x.txt"]);
  expect(files.map(({ file }) => file.size)).toEqual([1, 1, 1, 1, 1, 1]);
});

test("a file without a folder has its name, and text is no file", async () => {
  const file = new File(["x"], "a.png");
  expect(await droppedFiles(drop({ file }, {}))).toEqual([{ file, path: "a.png" }]);
});

test("a folder that cannot be read is an error", async () => {
  const broken = { isFile: false, isDirectory: true, createReader: () => ({ readEntries: (_: unknown, reject: (error: Error) => void) => reject(new Error("gone")) }) };
  await expect(droppedFiles(drop({ entry: broken as unknown as FileSystemEntry }))).rejects.toThrow("gone");
});

test("the files of a chosen folder have their paths below it", () => {
  const [plain, nested] = [new File([], "a"), new File([], "b")];
  Object.defineProperty(nested, "webkitRelativePath", { value: "folder/b" });
  expect(chosenFiles([plain, nested] as unknown as FileList).map(({ path }) => path)).toEqual(["a", "folder/b"]);
});
