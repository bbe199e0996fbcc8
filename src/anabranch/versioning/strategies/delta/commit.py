"""Commits of a Delta log, as far as the merge reads them.

A commit is a file of JSON lines, one action each. Source: the Delta transaction log protocol,
section "Actions".
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

import msgspec

from anabranch.converter import Converter
from anabranch.errors import Conflict
from anabranch.tables.delta.actions import FileAction
from anabranch.versioning.strategies.side_objects import refusal

__all__ = ["REBASE_FIELD", "LogCommit", "RebaseNote", "parse_commit"]

REBASE_FIELD = "anabranchRebase"
"""The field of `commitInfo` in a commit that a merge has given another version."""


class RebaseNote(msgspec.Struct, frozen=True):
    """What a merge notes in a commit that it has given another version: the SHA-256 of the file
    that was first written, and of the file of the version before.

    So a commit is recognized after it was merged, and two logs with the same file at a version are
    the same up to it.
    """

    commit: str
    after: str


_TO_REBASE_NOTE = Converter(RebaseNote)


class Transaction(msgspec.Struct, frozen=True, rename="camel"):
    """The progress of an application that writes to the table."""

    app_id: str


class Domain(msgspec.Struct, frozen=True):
    """A change of a named part of the table's metadata."""

    domain: str


class Action(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """A line of a commit. One member is set."""

    add: FileAction | None = None
    remove: FileAction | None = None
    commit_info: dict[str, Any] | None = None
    meta_data: dict[str, Any] | None = None
    protocol: dict[str, Any] | None = None
    txn: Transaction | None = None
    domain_metadata: Domain | None = None
    cdc: dict[str, Any] | None = None


class LogCommit(msgspec.Struct, frozen=True, kw_only=True):
    """A commit. `identity` stays when a merge gives it another version."""

    version: int
    identity: str
    content: bytes
    info: Mapping[str, Any]
    adds: list[FileAction]
    removes: list[FileAction]
    meta_data: list[dict[str, Any]]
    protocols: list[dict[str, Any]]
    applications: set[str]
    domains: set[str]

    @property
    def operation(self) -> str:
        """The name of the operation in upper case, "" if the writer gave none."""
        operation = self.info.get("operation")
        return operation.upper() if isinstance(operation, str) else ""

    @property
    def files(self) -> set[str]:
        """The paths of the files that the commit adds or removes."""
        return {action.file for action in (*self.adds, *self.removes)}


_DECODER = msgspec.json.Decoder(Action)


def parse_commit(side: str, version: int, content: bytes) -> LogCommit:
    """Returns a commit. Raises Conflict for a file that is none, or has actions that are unknown
    here.
    """
    try:
        actions = [_DECODER.decode(line) for line in content.splitlines() if line.strip()]
        info = next((each.commit_info for each in actions if each.commit_info is not None), {})
        return LogCommit(
            version=version,
            identity=_identity(content, info),
            content=content,
            info=info,
            adds=[each.add for each in actions if each.add is not None],
            removes=[each.remove for each in actions if each.remove is not None],
            meta_data=[each.meta_data for each in actions if each.meta_data is not None],
            protocols=[each.protocol for each in actions if each.protocol is not None],
            applications={each.txn.app_id for each in actions if each.txn is not None},
            domains={
                each.domain_metadata.domain for each in actions if each.domain_metadata is not None
            },
        )
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise _unreadable(side, version, error) from error


def _identity(content: bytes, info: Mapping[str, Any]) -> str:
    if REBASE_FIELD in info:
        return _TO_REBASE_NOTE.convert(info[REBASE_FIELD]).commit
    return hashlib.sha256(content).hexdigest()


def _unreadable(side: str, version: int, error: Exception) -> Conflict:
    return refusal(f"version {version} of the {side} cannot be read: {error}")
