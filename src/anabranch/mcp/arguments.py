"""Arguments that several tools have: their types, limits and descriptions, from which the schemas
of tools are made.
"""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

__all__ = [
    "After",
    "Amount",
    "Arguments",
    "AtReference",
    "InRepository",
    "Path",
    "Prefix",
    "Reference",
    "Rows",
]

_MAX_NAME, _MAX_PATH = 256, 1024

Repository = Annotated[
    str, Meta(min_length=1, max_length=_MAX_NAME, description="The name of a repository.")
]
Reference = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=_MAX_NAME,
        description="A branch, tag or commit id, or an expression such as `main~1` or "
        "`main@{2 hours ago}`.",
    ),
]
Path = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=_MAX_PATH,
        description="The path of an object in the repository, such as `tables/may.parquet`.",
    ),
]
Prefix = Annotated[
    str, Meta(max_length=_MAX_PATH, description="Only paths or names that begin with this.")
]
After = Annotated[
    str,
    Meta(max_length=4096, description="Continues a listing: the `next` of its page before."),
]
Amount = Annotated[int, Meta(ge=1, le=100, description="The most items to return.")]
Rows = Annotated[int, Meta(ge=1, le=100, description="The most rows to return.")]


class Arguments(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The arguments of a tool."""


class InRepository(Arguments, frozen=True, kw_only=True):
    """Arguments of a tool that works in a repository."""

    repository: Repository


class AtReference(InRepository, frozen=True, kw_only=True):
    """Arguments of a tool that reads at a reference."""

    reference: Reference = "main"
