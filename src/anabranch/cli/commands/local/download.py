"""Brings a folder to the state of a commit: deletes files and downloads objects."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from pathlib import Path

from anabranch.cli.commands.fs.save_file import save
from anabranch.cli.commands.fs.transfer import Transfer
from anabranch.cli.commands.local.link import Link
from anabranch.cli.commands.local.safe_names import check_names
from anabranch.cli.commands.local.trees import Entry, Tree
from anabranch.cli.errors import Failure
from anabranch.cli.framework.context import CommandContext
from anabranch.cli.output.format import printable
from anabranch.cli.output.transfer_progress import progress
from anabranch.model.uri import LakeUri

__all__ = ["bring", "check_bring"]


def check_bring(link: Link, files: Tree, tree: Tree, paths: Iterable[str]) -> None:
    """Raises Failure if the files of some paths cannot become those of a tree beside the other
    files of the folder.
    """
    wanted = set(paths)
    stay = [path for path in files if path not in wanted]
    check_names(link.folder, [path for path in wanted if path in tree], stay)


def bring(
    context: CommandContext,
    link: Link,
    files: Tree,
    tree: Tree,
    paths: Iterable[str],
    *,
    commit: str,
) -> None:
    """Makes the files of some paths what they are in the tree of a commit. Other files stay. The
    caller has checked the paths, and which of the `files` may be replaced. Raises Failure for files
    that changed since then.
    """
    wanted = sorted(paths)
    # deletions come first: a file may become a folder
    for path in wanted:
        if path not in tree:
            _check_still(link.folder, path, files)
            _delete(link.folder, path)
    place = LakeUri(link.source.repository, commit)

    def fetch(path: str) -> None:
        _check_still(link.folder, path, files)
        _fetch(context, place, link, path, tree[path], transfer)

    with progress(context.output, "Downloading") as bar:
        transfer = Transfer(bar)
        fetched = [path for path in wanted if path in tree]
        transfer.expect(sum(tree[path].size for path in fetched))
        done = transfer.each(
            fetched,
            fetch,
            workers=context.arguments.parallelism,
            path=str,
        )
        for _ in done:
            pass
    transfer.finish("downloaded")


def _fetch(
    context: CommandContext, place: LakeUri, link: Link, path: str, entry: Entry, transfer: Transfer
) -> None:
    file = link.folder / path
    save(context, place, link.prefix + path, file, transfer)
    os.utime(file, (entry.mtime, entry.mtime))


def _check_still(folder: Path, path: str, files: Tree) -> None:
    """Raises Failure if a file is not what it was when the folder was read."""
    try:
        status = (folder / path).lstat()
    except (FileNotFoundError, NotADirectoryError):
        return
    was, now = files.get(path), (status.st_size, int(status.st_mtime_ns // 10**9))
    if not stat.S_ISDIR(status.st_mode) and (was is None or (was.size, was.mtime) != now):
        raise Failure(
            f"{printable(path)} changed at the same time",
            kind="file_error",
            hint="The file is kept. Run the command again.",
        )


def _delete(folder: Path, path: str) -> None:
    check_names(folder, [path])
    file = folder / path
    file.unlink(missing_ok=True)
    for parent in file.parents:
        if parent == folder or not parent.is_dir() or any(parent.iterdir()):
            break
        parent.rmdir()
