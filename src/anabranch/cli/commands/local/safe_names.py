"""Checks that the paths of objects can be files of one folder, before anything is written."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from anabranch.cli.commands.fs.save_file import local_path
from anabranch.cli.commands.local.link import LINK_FILE
from anabranch.cli.errors import Failure

__all__ = ["check_names", "clashes", "ignores_case"]


def check_names(folder: Path, paths: Iterable[str], beside: Iterable[str] = ()) -> None:
    """Raises Failure for paths that lead out of the folder, also through links in it, or that
    exclude each other or files that are to stay `beside` them.
    """
    names = list(paths)
    for path in names:
        file = local_path(folder, path)
        for parent in file.parents:
            if parent == folder:
                break
            if parent.is_symlink():
                raise _unsafe("these paths lead through a link in the folder", [path])
        if file.is_symlink():
            raise _unsafe("these paths are links in the folder", [path])
    if found := clashes([*names, *beside], fold=ignores_case(folder)):
        raise _unsafe("these paths cannot be files of one folder at the same time", found)


def clashes(paths: Iterable[str], *, fold: bool) -> list[str]:
    """Returns the paths that are also a folder of others, and, with `fold`, those that differ from
    others only in case.
    """
    files: dict[str, list[str]] = {}
    folders: dict[str, set[str]] = {}
    for path in paths:
        files.setdefault(path.casefold() if fold else path, []).append(path)
        parts = path.split("/")
        for end in range(1, len(parts)):
            parent = "/".join(parts[:end])
            folders.setdefault(parent.casefold() if fold else parent, set()).add(parent)
    found: list[str] = []
    for name, same in files.items():
        if len(same) > 1 or name in folders:
            found.extend(same)
    found.extend(one for same in folders.values() if len(same) > 1 for one in same)
    return sorted(found)


def ignores_case(folder: Path) -> bool:
    """Returns whether the file system of a linked folder takes names that differ only in case as
    the same.
    """
    return (folder / LINK_FILE).exists() and (folder / LINK_FILE.upper()).exists()


def _unsafe(message: str, paths: list[str]) -> Failure:
    return Failure(
        message,
        kind="unsafe_path",
        hint="Rename the objects on the branch, or the files in the folder.",
        paths=paths,
    )
