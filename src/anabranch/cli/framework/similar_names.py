"""Suggestions of similar names for a name that does not exist.

They cost requests only after a response with status 404: does the repository exist, do the branches
and tags, is there a similar object in the same folder?
"""

from __future__ import annotations

import re

from anabranch.cli.client.connection import Connection
from anabranch.cli.errors import Failure
from anabranch.cli.framework.address import address
from anabranch.errors.did_you_mean import closest

__all__ = ["suggestion"]

_REF_WORDS = ("branches", "refs", "tags", "commits", "merge", "diff")


def suggestion(failure: Failure, connection: Connection) -> str:
    """Returns a hint for a name that was not found, empty without a suggestion."""
    asked = failure.asked
    if len(asked) < 2 or asked[0] != "repositories":  # noqa: PLR2004
        return ""
    repository = asked[1]
    try:
        if not _exists(connection, repository):
            return _near_repository(connection, repository)
        if "pull request" in failure.message:
            return f"`anabranch pr list lakefs://{repository} --state all` shows them."
        refs = [asked[i + 1] for i in range(2, len(asked) - 1, 2) if asked[i] in _REF_WORDS]
        if asked[-1] in ("objects", "stat"):
            found = _near_ref(connection, repository, refs)
            return found or _near_object(connection, repository, refs[0], failure.keys)
        return _near_ref(connection, repository, [*refs, *failure.keys])
    except Failure:
        return ""


def _exists(connection: Connection, *parts: str) -> bool:
    try:
        connection.get("repositories", *parts)
    except Failure as failure:
        if failure.status == 404:  # noqa: PLR2004
            return False
        raise
    return True


def _near_repository(connection: Connection, name: str) -> str:
    known = [item["id"] for item in connection.pages("repositories", amount=1000)]
    return closest(name, known) or "`anabranch repo list` shows the repositories."


def _near_ref(connection: Connection, repository: str, names: list[str]) -> str:
    known: list[str] = []
    for kind in ("branches", "tags"):
        pages = connection.pages("repositories", repository, kind, amount=1000)
        known += [item["id"] for item in pages]
    unknown = [name for name in names if not _exists(connection, repository, "commits", name)]
    for name in unknown:
        base = re.split(r"[~^@$]", name, maxsplit=1)[0]
        if base not in known and (near := closest(base, known)):
            return near
    return f"`anabranch branch list lakefs://{repository}` shows its branches." if unknown else ""


def _near_object(connection: Connection, repository: str, ref: str, keys: tuple[str, ...]) -> str:
    if not keys:
        return ""
    folder = keys[0].rpartition("/")[0]
    prefix = folder + "/" if folder else ""
    pages = connection.pages(
        *("repositories", repository, "refs", ref, "objects", "ls"),
        amount=1000,
        prefix=prefix,
        delimiter="/",
    )
    near = closest(keys[0], [item["path"] for item in pages])
    return (
        near or f"`anabranch fs ls {address(repository, ref, prefix)}` lists the existing objects."
    )
