"""The lake as hooks see it: a repository with the permissions of the user who caused the event."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import BinaryIO, Protocol, cast

from anabranch.access.readable_paths import ReadablePaths
from anabranch.actions.caller import Caller
from anabranch.actions.runs.event import Event
from anabranch.blocks.contract import BlockStore
from anabranch.catalog.objects.object_page import ObjectPage, object_stat
from anabranch.catalog.objects.open_object import OpenObject
from anabranch.catalog.objects.readable_listing import list_objects
from anabranch.catalog.readable_changes import readable_changes
from anabranch.errors import Denied, NotSupported
from anabranch.model.change import Change
from anabranch.model.commit import Commit
from anabranch.model.entry import Entry
from anabranch.model.page import Page
from anabranch.model.repository import Repository
from anabranch.model.stat import CommonPrefix, Stat
from anabranch.ranged_stream import open_ranges
from anabranch.versioning.core import Core

__all__ = ["Authority", "HookLakes", "LibraryAuthority", "Reader"]

_BUFFER_BYTES = 1 << 20


Reader = Callable[[str, str, str], ReadablePaths | None]
"""Returns the paths of a repository that can be read at a reference; None if these are all that
have a prefix.
"""


class Authority(Protocol):
    """What users may do, and the operations that they do it by. A change that was made without a
    server has the user "", who is whoever may open the stores.
    """

    def serves(self, username: str) -> bool:
        """Returns whether this process can act for a user."""

    def reader(self, username: str) -> Reader:
        """Returns what a user may read now. Raises Denied if the user does not exist any more."""

    def request(
        self, caller: Caller, method: str, path: str, query: Mapping[str, str], body: bytes
    ) -> tuple[int, bytes]:
        """Performs an operation of the REST API; returns its status and body."""


class LibraryAuthority:
    """The authority of a process without users: it may read everything, and has no REST API. It
    leaves the hooks after changes of users to the servers.
    """

    def serves(self, username: str) -> bool:
        """Returns whether a change was made without a server."""
        return not username

    def reader(self, username: str) -> Reader:  # noqa: ARG002  there are no users
        """Returns that all paths can be read."""
        return lambda _repository, _reference, _prefix: None

    def request(
        self,
        caller: Caller,  # noqa: ARG002
        method: str,
        path: str,
        query: Mapping[str, str],  # noqa: ARG002
        body: bytes,  # noqa: ARG002
    ) -> tuple[int, bytes]:
        """Raises NotSupported."""
        raise NotSupported(
            f"{method} {path}: there is no REST API in this process",
            kind="no_rest_api",
            hint="Run the hook on a server.",
        )


class HookLakes:
    """Gives hooks their lakes. The server sets its `authority` before it starts."""

    def __init__(self, core: Core, blocks: BlockStore) -> None:
        self.authority: Authority = LibraryAuthority()
        self._core = core
        self._blocks = blocks

    def serve(self, event: Event) -> bool:
        """Returns whether this process can act for the user who caused an event."""
        return self.authority.serves(event.username)

    def __call__(self, event: Event) -> _HookLake:
        """Returns the lake for the hooks of an event."""
        return _HookLake(self._core, self._blocks, self.authority, event)


class _HookLake:
    """The lake of one event; see `HookLake`."""

    def __init__(self, core: Core, blocks: BlockStore, authority: Authority, event: Event) -> None:
        self._core = core
        self._blocks = blocks
        self._authority = authority
        self._name = event.repository
        self._caller = Caller(event.username, event.chain)
        self._reader: Reader | None = None

    def read(self, reference: str, path: str) -> BinaryIO:
        repository = self._repository()
        opened = OpenObject(repository, self._entry(repository, reference, path), self._blocks)
        return cast(
            "BinaryIO",
            open_ranges(opened.read_bytes, opened.entry.size, buffer_bytes=_BUFFER_BYTES),
        )

    def stat(self, reference: str, path: str) -> Stat:
        repository = self._repository()
        entry = self._entry(repository, reference, path)
        return object_stat(self._blocks, repository.storage_namespace, path, entry)

    def list(
        self, reference: str, *, prefix: str = "", after: str = "", delimiter: str = "", amount: int
    ) -> Page[Stat | CommonPrefix]:
        repository = self._repository()
        listing = list_objects(
            self._core,
            repository,
            self._core.references.resolve(repository, reference),
            self._readable(reference, prefix),
            prefix=prefix,
            after=after,
            delimiter=delimiter,
            amount=amount,
        )
        page = ObjectPage(listing, repository.storage_namespace, self._blocks)
        return Page(page.items, page.has_more, page.next_offset)

    def diff(
        self, left: str, right: str, *, prefix: str = "", after: str = "", amount: int
    ) -> Page[Change]:
        core, repository = self._core, self._repository()
        sides = [core.references.resolve(repository, each) for each in (left, right)]
        with (
            core.differ.tree_at(repository, sides[0]) as ours,
            core.differ.tree_at(repository, sides[1]) as theirs,
        ):
            return readable_changes(
                partial(core.differ.two_dot, ours, theirs),
                self._readable(right, prefix),
                prefix=prefix,
                after=after,
                delimiter="",
                amount=amount,
            )

    def commit(self, reference: str) -> Commit:
        return self._core.references.commit(self._repository(), reference)

    def request(
        self, method: str, path: str, query: Mapping[str, str], body: bytes
    ) -> tuple[int, bytes]:
        return self._authority.request(self._caller, method, path, query, body)

    def _repository(self) -> Repository:
        return self._core.repositories.get(self._name)

    def _entry(self, repository: Repository, reference: str, path: str) -> Entry:
        readable = self._readable(reference, path)
        if readable is not None and path not in readable:
            raise Denied(
                f"{self._caller.username} may not read {path!r}, so its hook may not either"
            )
        return self._core.objects.get(repository, reference, path)

    def _readable(self, reference: str, prefix: str) -> ReadablePaths | None:
        if self._reader is None:  # once for all hooks of the event, which may read many objects
            self._reader = self._authority.reader(self._caller.username)
        return self._reader(self._name, reference, prefix)
