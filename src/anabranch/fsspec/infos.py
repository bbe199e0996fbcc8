"""Properties of files and folders, as fsspec has them."""

from __future__ import annotations

from typing import Any

from anabranch.fsspec.locations import Location
from anabranch.model.objects.stat import CommonPrefix, Stat

__all__ = ["Info", "add_file", "file_info", "folder_info", "item_info"]

Info = dict[str, Any]


def add_file(
    found: dict[str, Info], where: Location, item: Stat, maxdepth: int | None, *, withdirs: bool
) -> None:
    """Adds a file, and the folders between it and the place."""
    names = item.path.removeprefix(where.folder).split("/")
    if (maxdepth is None or len(names) <= maxdepth) and names[-1]:  # else it marks a folder
        info = file_info(where, item)
        found[info["name"]] = info
    if withdirs:
        folder = (where.root + where.folder).rstrip("/")
        for name in names[: min(len(names) - 1, maxdepth or len(names))]:
            folder = f"{folder}/{name}"
            if folder in found:
                continue
            found[folder] = folder_info(folder)


def item_info(where: Location, item: Stat | CommonPrefix) -> Info:
    """Returns the properties of an item of a listing, as fsspec has them."""
    if isinstance(item, CommonPrefix):
        return folder_info(where.root + item.path.removesuffix("/"))
    return file_info(where, item)


def file_info(where: Location, stat: Stat) -> Info:
    """Returns the properties of a file."""
    entry = stat.entry
    return {
        "name": where.root + stat.path,
        "size": entry.size,
        "type": "file",
        "checksum": entry.checksum,
        "content_type": entry.content_type,
        "mtime": entry.mtime,
        "metadata": entry.metadata,
    }


def folder_info(name: str) -> Info:
    """Returns the properties of a folder."""
    return {"name": name, "size": 0, "type": "directory"}
