"""`lakefs`: operations of the REST API as the user who caused the event.

Each function returns the status and what the response has, as a table.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

import msgspec

from anabranch.actions.hooks.contract import HookContext, HookLake

__all__ = ["MAX_OBJECT_BYTES", "lakefs", "read_object", "reference_path"]

MAX_OBJECT_BYTES = 64 << 20
"""Larger objects are not read: the server would hold them in memory."""


def lakefs(context: HookContext) -> Mapping[str, Any]:
    """Returns the library `lakefs`."""
    lake = context.lake

    def update_object_user_metadata(repository: str, branch: str, path: str, metadata: Any) -> Any:
        place = f"{_branch(repository, branch)}/objects/stat/user_metadata"
        return _table(lake, "PUT", place, {"path": path}, {"set": metadata})

    def create_tag(repository: str, reference: str, tag: str) -> Any:
        place = f"/repositories/{quote(repository, safe='')}/tags"
        return _table(lake, "POST", place, {}, {"ref": reference, "id": tag})

    def diff_refs(
        repository: str,
        left: str,
        right: str,
        after: str = "",
        prefix: str = "",
        delimiter: str = "",
        amount: int = 0,
    ) -> Any:
        place = f"{reference_path(repository, left)}/diff/{quote(right, safe='')}"
        return _table(lake, "GET", place, _page(after, prefix, delimiter, amount))

    def diff_branch(
        repository: str,
        branch: str,
        after: str = "",
        amount: int = 0,
        prefix: str = "",
        delimiter: str = "",
    ) -> Any:
        place = f"{_branch(repository, branch)}/diff"
        return _table(lake, "GET", place, _page(after, prefix, delimiter, amount))

    def list_objects(
        repository: str,
        reference: str,
        after: str = "",
        prefix: str = "",
        delimiter: str = "",
        amount: int = 0,
        user_metadata: bool = True,
    ) -> Any:
        query = _page(after, prefix, delimiter, amount)
        query["user_metadata"] = "true" if user_metadata else "false"
        return _table(lake, "GET", f"{reference_path(repository, reference)}/objects/ls", query)

    def get_object(repository: str, reference: str, path: str) -> tuple[int, bytes]:
        return read_object(lake, reference_path(repository, reference), path)

    def stat_object(
        repository: str, reference: str, path: str, user_metadata: bool = True
    ) -> tuple[int, bytes]:
        query = {"path": path, "user_metadata": "true" if user_metadata else "false"}
        return lake.request(
            "GET", f"{reference_path(repository, reference)}/objects/stat", query, b""
        )

    functions = (update_object_user_metadata, create_tag, diff_refs, diff_branch, list_objects)
    return {each.__name__: each for each in (*functions, get_object, stat_object)}


def read_object(lake: HookLake, place: str, path: str) -> tuple[int, bytes]:
    """Returns the status and the content of an object; `place` is the path of its reference. Raises
    ValueError for one that is too large.
    """
    status, found = lake.request("GET", f"{place}/objects/stat", {"path": path}, b"")
    if status == 200 and msgspec.json.decode(found)["size_bytes"] > MAX_OBJECT_BYTES:  # noqa: PLR2004
        raise ValueError(f"{path} has more than {MAX_OBJECT_BYTES} bytes")
    return lake.request("GET", f"{place}/objects", {"path": path}, b"")


def _table(
    lake: HookLake, method: str, path: str, query: Mapping[str, str], body: object = None
) -> tuple[Any, ...]:
    """Returns the status and the response's document, if it has one."""
    sent = b"" if body is None else msgspec.json.encode(body)
    status, received = lake.request(method, path, query, sent)
    return (status, msgspec.json.decode(received)) if received else (status,)


def _page(after: str, prefix: str, delimiter: str, amount: int) -> dict[str, str]:
    given = {"after": after, "prefix": prefix, "delimiter": delimiter, "amount": str(amount or "")}
    return {name: value for name, value in given.items() if value}


def reference_path(repository: str, reference: str) -> str:
    """Returns the path of a reference in the REST API."""
    return f"/repositories/{quote(repository, safe='')}/refs/{quote(reference, safe='')}"


def _branch(repository: str, branch: str) -> str:
    return f"/repositories/{quote(repository, safe='')}/branches/{quote(branch, safe='')}"
