"""The lake as hooks see it: a repository with the permissions that both the user who caused the
event and the authors of the hook's code have.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import BinaryIO, NamedTuple, Protocol, cast

from anabranch.access.actors.readable_paths import ReadablePaths
from anabranch.actions.files.action import Action
from anabranch.actions.hooks.contract import HookSettings
from anabranch.actions.runs.event import Event
from anabranch.actions.runs.runner import HookAccess
from anabranch.blocks.contract import BlockStore
from anabranch.catalog.actions.hook_code import LoadedCode
from anabranch.catalog.objects.object_page import ObjectPage, object_stat
from anabranch.catalog.objects.open_object import OpenObject
from anabranch.catalog.objects.readable_listing import list_objects
from anabranch.catalog.read_permissions.readable_changes import readable_changes
from anabranch.errors import AnabranchError, Denied, HookFailed, NotSupported
from anabranch.files.ranged_stream import open_ranges
from anabranch.model.caller import Caller
from anabranch.model.commits.change import Change
from anabranch.model.commits.commit import Commit
from anabranch.model.objects.entry import Entry
from anabranch.model.objects.stat import CommonPrefix, Stat
from anabranch.model.page import Page
from anabranch.model.repositories.repository import Repository
from anabranch.versioning.core import Core

__all__ = ["Authority", "HookLakes", "HookRights", "LibraryAuthority", "Reader"]

_BUFFER_BYTES = 1 << 20
_MAX_SCRIPT_BYTES = 4 << 20


Reader = Callable[[str, str, str], ReadablePaths | None]
"""Returns the paths of a repository that can be read at a reference; None if these are all that
have a prefix.
"""


class HookRights(NamedTuple):
    """On whose behalf a run of a hook acts: of all the caller's principals, in the repository, in
    all of them if that is empty.
    """

    caller: Caller
    repository: str
    run_id: str


class Authority(Protocol):
    """What users may do, and the operations that they do it by. A change that was made without a
    server has the user "", a program that opens the stores itself.
    """

    has_users: bool

    def serves(self, username: str) -> bool:
        """Returns whether this process can act for a user."""

    def reader(self, rights: HookRights) -> Reader:
        """Returns what a hook may read now. Raises Denied if one of the users does not exist any
        more.
        """

    def request(
        self, rights: HookRights, method: str, path: str, query: Mapping[str, str], body: bytes
    ) -> tuple[int, bytes]:
        """Performs an operation of the REST API; returns its status and body."""


class LibraryAuthority:
    """The authority of a process without users: it may read everything, and has no REST API. It
    leaves the hooks after changes of users to the servers.
    """

    has_users = False

    def serves(self, username: str) -> bool:
        """Returns whether a change was made without a server."""
        return not username

    def reader(self, rights: HookRights) -> Reader:  # noqa: ARG002  there are no users
        """Returns that all paths can be read."""
        return lambda _repository, _reference, _prefix: None

    def request(
        self,
        rights: HookRights,  # noqa: ARG002
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

    def __init__(self, core: Core, blocks: BlockStore, settings: HookSettings) -> None:
        self._settings = settings
        self.authority: Authority = LibraryAuthority()
        self._core = core
        self._blocks = blocks

    def serve(self, event: Event) -> bool:
        """Returns whether this process can act for the user who caused an event."""
        return self.authority.serves(event.username)

    def __call__(self, event: Event, run_id: str, action: Action) -> HookAccess:
        """Returns what a hook of an action reaches, in a run for an event."""
        code = LoadedCode(self._core, self._settings, event, action)
        lake = _HookLake(
            *(self._core, self._blocks, self.authority, event, run_id, code),
            trusts_authors=self._settings.trusts_authors,
        )
        return HookAccess(lake, lake)


class _HookLake:
    """The lake and the code of one run of a hook; see `HookLake` and `HookCode`. The authors of the
    code limit what it shows, unless it `trusts_authors`.
    """

    def __init__(
        self,
        core: Core,
        blocks: BlockStore,
        authority: Authority,
        event: Event,
        run_id: str,
        code: LoadedCode,
        *,
        trusts_authors: bool,
    ) -> None:
        self._core = core
        self._blocks = blocks
        self._authority = authority
        self._name = event.repository
        self._event = event
        self._run_id = run_id
        self._code = code
        self._trusts_authors = trusts_authors
        self._reader: Reader | None = None
        self._rights_of_reader: HookRights | None = None

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
        return self._authority.request(self._rights(), method, path, query, body)

    def load(self, path: str) -> bytes:
        try:
            entry = self._code.add(path)
            self._require_readable(self._event.code.reference, path)
            opened = OpenObject(self._repository(), entry, self._blocks)
            code = opened.read_bytes(0, min(entry.size, _MAX_SCRIPT_BYTES + 1))
        except AnabranchError as error:
            raise HookFailed(f"could not load script_path {path}: {error.message}") from error
        if len(code) > _MAX_SCRIPT_BYTES:
            raise HookFailed(f"the script {path} has more than {_MAX_SCRIPT_BYTES} bytes")
        return code

    def require_variables(self) -> None:
        self._code.require_variables()

    def _rights(self) -> HookRights:
        event, others = self._event, self._event.others
        if self._authority.has_users and not self._trusts_authors:
            others = tuple(dict.fromkeys((*others, *self._code.authors())))
        caller = Caller(event.username, event.chain, event.created_at, others, event.record_id)
        repository = "" if self._trusts_authors else event.repository
        return HookRights(caller, repository, self._run_id)

    def _repository(self) -> Repository:
        return self._core.repositories.get(self._name)

    def _entry(self, repository: Repository, reference: str, path: str) -> Entry:
        self._require_readable(reference, path)
        return self._core.objects.get(repository, reference, path)

    def _require_readable(self, reference: str, path: str) -> None:
        readable = self._readable(reference, path)
        if readable is not None and path not in readable:
            raise Denied(
                f"the user who caused the event, or an author of the hook, may not read {path!r}",
                hint="An administrator can grant fs:ReadObject for it.",
            )

    def _readable(self, reference: str, prefix: str) -> ReadablePaths | None:
        rights = self._rights()
        if self._reader is None or rights != self._rights_of_reader:
            # once while the code is the same: a hook may read many objects
            self._reader, self._rights_of_reader = self._authority.reader(rights), rights
        return self._reader(self._name, reference, prefix)
