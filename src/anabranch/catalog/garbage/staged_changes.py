"""The staged changes of all repositories, in an order in which a later request can go on."""

from __future__ import annotations

import base64
import binascii
import heapq
from collections.abc import Iterator, Sequence
from itertools import groupby
from operator import itemgetter
from typing import NamedTuple

import msgspec

from anabranch.errors import Invalid
from anabranch.model.names import decode_key, encode_path
from anabranch.model.objects.entry import Entry
from anabranch.model.page import upper_bound
from anabranch.model.repositories.repository import Repository
from anabranch.versioning.core import Core
from anabranch.versioning.records.entries import entry_from

__all__ = ["END_OF_REPOSITORY", "StagedChange", "StagedPlace", "repositories_in_order", "staged_in"]
__all__ += ["decode_position", "encode_position", "is_deleted"]

END_OF_REPOSITORY = "\U0010ffff"
"""Sorts after the names of all branches."""

_DECODER = msgspec.json.Decoder(tuple[str, ...])


class StagedPlace(NamedTuple):
    """Where a change is staged. `repository` is a name by which repositories are in order."""

    repository: str
    branch: str
    path: str


class StagedChange(NamedTuple):
    """A staged entry, and where it is staged."""

    place: StagedPlace
    entry: Entry


def repositories_in_order(
    core: Core, first: Repository | None = None
) -> Iterator[tuple[str, Repository]]:
    """Yields all repositories with names that are in order: `first`, whose name is empty, then
    those that exist, since one that is deleted meanwhile is found among those that can be restored,
    which are last. A tilde is in no name of a repository, and the slash puts these in the order of
    their keys: `sea/…` is before `sea1/…`.
    """
    if first is not None:
        yield "", first
    for repository in core.repositories.all():
        if first is None or repository.id != first.id:
            yield repository.id, repository
    for deleted in core.repositories.deleted.all():
        repository = deleted.repository
        yield f"~{repository.id}/{repository.instance_uid}", repository


def is_deleted(name: str) -> bool:
    """Returns whether a name is that of a repository that can be restored."""
    return name.startswith("~")


def staged_in(
    core: Core,
    name: str,
    repository: Repository,
    after: StagedPlace | None = None,
    prefix: bytes = b"",
) -> Iterator[StagedChange]:
    """Yields the staged objects of a repository whose keys begin with a prefix, by branch and path,
    of each staging area by itself; with `after`, those that follow that place, if it is in this
    repository. A repository that is before it has none.
    """
    if after is not None and name < after.repository:
        return
    if after is not None and name != after.repository:
        after = None
    core.operation_retention.compact(repository)
    end = upper_bound(prefix) if prefix else None
    for branch, tokens in _areas(core, repository):
        start = prefix
        if after is not None and branch <= after.branch:
            if branch < after.branch:
                continue
            start = max(prefix, encode_path(after.path) + b"\x00")
        # areas are read separately: an entry of a sealed area is committed even if a newer
        # area replaces it
        areas = [core.staging.changes([token], start, end) for token in tokens]
        for key, value in heapq.merge(*areas, key=itemgetter(0)):
            if value is not None:
                yield StagedChange(StagedPlace(name, branch, decode_key(key)), entry_from(value))


def _areas(core: Core, repository: Repository) -> Iterator[tuple[str, Sequence[str]]]:
    """Yields the names of branches, in order, with their staging areas and those that operations
    can bring back to a branch with this name.
    """
    # records before and after branches: what moves from one to the other meanwhile is in both
    found = _kept_areas(core, repository)
    found |= {(branch.id, branch.tokens) for branch in core.branches.all(repository)}
    found |= _kept_areas(core, repository)
    for branch, areas in groupby(sorted(found), key=itemgetter(0)):
        yield branch, list(dict.fromkeys(token for _, tokens in areas for token in tokens))


def _kept_areas(core: Core, repository: Repository) -> set[tuple[str, tuple[str, ...]]]:
    return {
        (former.id, former.tokens)
        for former in core.operation_retention.kept(repository).branches
        if former.staging_token
    }


def encode_position(*texts: str) -> str:
    """Returns the token of a position, which may have any names and paths."""
    raw = msgspec.json.encode([encode_path(text).hex() for text in texts])
    return base64.b64encode(raw).decode()


def decode_position(token: str, length: int) -> tuple[str, ...]:
    """Returns the texts of a token, of which there are `length`. Raises Invalid."""
    try:
        fields = _DECODER.decode(base64.b64decode(token, validate=True))
        texts = tuple(decode_key(bytes.fromhex(text)) for text in fields)
    except (binascii.Error, ValueError, msgspec.MsgspecError) as error:
        raise Invalid("invalid continuation token", kind="invalid_continuation_token") from error
    if len(texts) != length:
        raise Invalid("invalid continuation token", kind="invalid_continuation_token")
    return texts
