"""Tools that list objects and read one."""

from __future__ import annotations

from base64 import b64encode
from typing import Annotated, Any

from msgspec import Meta

from anabranch.mcp.api import Api, ApiResponse
from anabranch.mcp.arguments import After, Amount, AtReference, Path, Prefix
from anabranch.mcp.limits import MAX_CONTENT_BYTES
from anabranch.mcp.results import Result, page, shorten
from anabranch.mcp.text_content import whole_characters
from anabranch.mcp.tool import Tool

__all__ = ["TOOLS", "total_size"]

_DEFAULT_BYTES = 16 << 10


class ListObjects(AtReference, frozen=True, kw_only=True):
    """Arguments of list_objects."""

    prefix: Prefix = ""
    recursive: Annotated[
        bool,
        Meta(description="List all paths below the prefix, and not one level with its folders."),
    ] = False
    after: After = ""
    amount: Amount = 50


class ReadObject(AtReference, frozen=True, kw_only=True):
    """Arguments of read_object."""

    path: Path
    start: Annotated[int, Meta(ge=0, description="The first byte to read.")] = 0
    length: Annotated[
        int, Meta(ge=1, le=MAX_CONTENT_BYTES, description="The most bytes to read.")
    ] = _DEFAULT_BYTES


def list_objects(api: Api, given: ListObjects) -> Result:
    """Returns a page of objects, and of folders unless it is recursive."""
    found = api.get(
        *("repositories", given.repository, "refs", given.reference, "objects", "ls"),
        prefix=given.prefix,
        delimiter="" if given.recursive else "/",
        after=given.after,
        amount=given.amount,
    )
    return Result(page(found, [_item(each) for each in found["results"]], "path"))


def read_object(api: Api, given: ReadObject) -> Result:
    """Returns bytes of an object: as text if they are UTF-8, otherwise in base64."""
    api = api.reading_at(given.repository, given.reference)
    place = ("repositories", given.repository, "refs", given.reference, "objects")
    stat = api.get(*place, "stat", path=given.path)
    size = stat["size_bytes"]
    about = {
        "path": given.path,
        "size_bytes": size,
        "content_type": stat.get("content_type", ""),
        "metadata": shorten(stat.get("metadata") or {}),
        "start": given.start,
    }
    if not size:
        return Result({**about, "length": 0, "has_more": False}, "")
    read = api.read(*place, path=given.path, start=given.start, length=given.length)
    text = whole_characters(read.body)
    length = len(read.body) if text is None else len(text.encode())
    end = given.start + length
    has_more = end < total_size(read, size)
    about |= {"length": length, "has_more": has_more, **({"next": end} if has_more else {})}
    if text is None:
        return Result({**about, "encoding": "base64"}, b64encode(read.body).decode())
    return Result({**about, "encoding": "utf-8"}, text)


def total_size(response: ApiResponse, otherwise: int) -> int:
    """Returns the size of the object that a response has a range of."""
    total = response.headers.get("content-range", "").rpartition("/")[2]
    return int(total) if total.isdigit() else otherwise


def _item(entry: dict[str, Any]) -> dict[str, Any]:
    if entry["path_type"] == "common_prefix":
        return {"path": entry["path"], "type": "folder"}
    return {
        "path": entry["path"],
        "type": "object",
        "size_bytes": entry["size_bytes"],
        "mtime": entry["mtime"],
        "checksum": entry["checksum"],
    }


TOOLS = (
    Tool(
        "list_objects",
        "List objects",
        "Lists objects at a branch, tag or commit: one level of folders below the prefix, or with "
        "`recursive` all paths. `mtime` is in seconds since 1970. Uncommitted objects of a branch "
        "are included.",
        ListObjects,
        list_objects,
    ),
    Tool(
        "read_object",
        "Read an object",
        "Reads bytes of one object, at most 64 KiB by one call: `next` is the `start` that "
        "continues. For Parquet, CSV, JSON lines and other tables, `preview_table` and `query` "
        "show rows instead.",
        ReadObject,
        read_object,
    ),
)
