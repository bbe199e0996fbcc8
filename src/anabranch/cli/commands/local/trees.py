"""Trees of a commit and of a folder, and how they differ.

As for lakectl, a file equals an object if sizes and modification times, in whole seconds, are
equal. The time of an object is that of the file it was uploaded from, if its metadata have one.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from anabranch.cli.commands.local.link import LINK_FILE
from anabranch.cli.errors import Failure
from anabranch.cli.framework.context import CommandContext
from anabranch.model.objects.data_address import is_generated

__all__ = [
    "MTIME",
    "Entry",
    "Tree",
    "compare",
    "has_content",
    "local_tree",
    "remote_tree",
    "remove_partials",
    "unnoticed_paths",
]

MTIME = "::lakefs::client-mtime"
_IGNORED = frozenset({LINK_FILE, ".DS_Store"})
_PARTIAL = re.compile(r"\.anabranch-[0-9a-f]+\.part")
_MD5 = re.compile(r"[0-9a-f]{32}")


class Entry(msgspec.Struct, frozen=True):
    """The size of an object or a file in bytes, its time in seconds, and an object's checksum;
    `proved` if that is certainly the MD5 of the bytes.
    """

    size: int
    mtime: int
    checksum: str = ""
    proved: bool = False

    def equals(self, other: Entry) -> bool:
        """Returns whether both are the same; a file has no checksum to compare."""
        known = self.checksum and other.checksum
        same = not known or self.checksum == other.checksum
        return same and self.size == other.size and self.mtime == other.mtime


Tree = Mapping[str, Entry]


def remote_tree(context: CommandContext, repository: str, ref: str, prefix: str) -> Tree:
    """Returns the objects below a prefix, by the rest of their paths."""
    pages = context.connection.pages(
        *("repositories", repository, "refs", ref, "objects", "ls"),
        prefix=prefix or None,
        user_metadata=True,
    )
    tree = {}
    for item in pages:
        path = item["path"].removeprefix(prefix)
        # other systems mark empty folders by objects whose path ends with a slash
        if path.endswith("/") or not path or _is_ignored(path.rpartition("/")[2]):
            continue
        proved = is_generated(item["physical_address"])
        tree[path] = Entry(item.get("size_bytes", 0), _mtime(item), item["checksum"], proved)
    return tree


def local_tree(folder: Path) -> Tree:
    """Returns the files below a folder. Raises Failure for links and other things that are neither
    files nor folders, and for names that are not UTF-8.
    """
    tree, refused = {}, []
    for parent, folders, names in os.walk(folder, onerror=_raise):
        here = Path(parent)
        links = [name for name in folders if (here / name).is_symlink()]
        for name in (*names, *links):
            if _is_ignored(name):
                continue
            path, status = (here / name).relative_to(folder).as_posix(), (here / name).lstat()
            if stat.S_ISREG(status.st_mode) and _is_utf8(path):
                tree[path] = Entry(status.st_size, int(status.st_mtime_ns // 10**9))
            else:
                refused.append(path)
    if refused:
        raise Failure(
            "the folder has links, special files, or names that are not UTF-8",
            kind="unsafe_path",
            hint="Move them out of the folder, or rename them.",
            paths=sorted(refused),
        )
    return tree


def remove_partials(folder: Path) -> None:
    """Removes what downloads that were killed left below a folder in which no other is running."""
    for file in list(folder.rglob(".anabranch-*.part")):
        if _PARTIAL.fullmatch(file.name) and not file.is_dir():
            file.unlink()


def compare(old: Tree, new: Tree) -> dict[str, str]:
    """Returns the paths that differ, in order, and how: added, removed or changed."""
    changes = {}
    for path in sorted(old.keys() | new.keys()):
        before, after = old.get(path), new.get(path)
        if before is None:
            changes[path] = "added"
        elif after is None:
            changes[path] = "removed"
        elif not before.equals(after):
            changes[path] = "changed"
    return changes


def has_content(file: Path, entry: Entry) -> bool:
    """Returns whether a file has the content of an object, by its MD5; if that is not the object's
    checksum, which is not proved to be an MD5, size and time decide.
    """
    status = file.lstat()
    if not stat.S_ISREG(status.st_mode) or status.st_size != entry.size:
        return False
    if _MD5.fullmatch(entry.checksum):
        with file.open("rb") as content:
            digest = hashlib.file_digest(content, lambda: hashlib.md5(usedforsecurity=False))
        if entry.proved or digest.hexdigest() == entry.checksum:
            return digest.hexdigest() == entry.checksum
    return int(status.st_mtime_ns // 10**9) == entry.mtime


def unnoticed_paths(folder: Path, base: Tree, files: Tree, paths: Iterable[str]) -> set[str]:
    """Returns those of the paths whose files have the size and the time of their objects, but other
    content.
    """
    return {
        path
        for path in paths
        if path in base
        and path in files
        and base[path].equals(files[path])
        and not has_content(folder / path, base[path])
    }


def _mtime(item: dict[str, Any]) -> int:
    given = (item.get("metadata") or {}).get(MTIME, "")
    return int(given) if re.fullmatch(r"-?[0-9]{1,12}", given) else int(item["mtime"])


def _is_ignored(name: str) -> bool:
    return name in _IGNORED or _PARTIAL.fullmatch(name) is not None


def _is_utf8(path: str) -> bool:
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True


def _raise(error: OSError) -> None:
    raise error
