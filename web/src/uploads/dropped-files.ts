// The files of a drop or a choice, with those in folders, and their paths below what was dropped.

/** A file and its path, such as `2024/january.parquet`. */
export interface ChosenFile {
  file: File;
  path: string;
}

/** Returns the files that somebody chose; a chosen folder's have their paths below it. */
export function chosenFiles(list: FileList): ChosenFile[] {
  return [...list].map((file) => ({ file, path: file.webkitRelativePath || file.name }));
}

/** Returns the files of a drop. Call it while the drop is handled: the browser empties it then. */
export async function droppedFiles(data: DataTransfer): Promise<ChosenFile[]> {
  const dropped = [...data.items].map((item) => ({ entry: item.webkitGetAsEntry(), file: item.getAsFile() }));
  const files: ChosenFile[] = [];
  for (const { entry, file } of dropped) {
    if (entry) await collect(entry, files);
    else if (file) files.push({ file, path: file.name }); // dragged from a page: it is in no folder
  }
  return files;
}

async function collect(entry: FileSystemEntry, files: ChosenFile[]): Promise<void> {
  if (isFile(entry)) {
    const file = await new Promise<File>((resolve, reject) => entry.file(resolve, reject));
    files.push({ file, path: entry.fullPath.replace(/^\//, "") });
  } else if (isDirectory(entry)) {
    const reader = entry.createReader();
    for (;;) {
      // a reader gives a hundred at a time, and none at the end
      const batch = await new Promise<FileSystemEntry[]>((resolve, reject) => reader.readEntries(resolve, reject));
      if (!batch.length) break;
      for (const child of batch) await collect(child, files);
    }
  }
}

function isFile(entry: FileSystemEntry): entry is FileSystemFileEntry {
  return entry.isFile;
}

function isDirectory(entry: FileSystemEntry): entry is FileSystemDirectoryEntry {
  return entry.isDirectory;
}
