"""The parts of a lake on a server for asyncio: the calls of `remote/calls`, run by threads."""

from __future__ import annotations

import functools
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable, Iterable, Mapping
from typing import Any, Generic, ParamSpec, Self, TypeVar, overload

from anabranch.client.rest_client import RestClient
from anabranch.model.objects.entry import DEFAULT_CONTENT_TYPE
from anabranch.model.objects.stat import CommonPrefix, Stat
from anabranch.model.page import MAX_AMOUNT, Page
from anabranch.remote.asynchronous.chunks import in_threads
from anabranch.remote.asynchronous.object import AsyncObject
from anabranch.remote.asynchronous.threads import Threads
from anabranch.remote.call import Call
from anabranch.remote.calls import (
    branches,
    commits,
    objects,
    operations,
    refs,
    repositories,
    tags,
    workspaces,
)

__all__ = [
    "Branches",
    "Commits",
    "Objects",
    "Operations",
    "Part",
    "Refs",
    "Repositories",
    "Tags",
    "Workspaces",
]

P = ParamSpec("P")
T = TypeVar("T")


class Part:
    """A part of a lake; `client` sends its requests, in one of the threads."""

    def __init__(self, client: RestClient, threads: Threads) -> None:
        self.client = client
        self.threads = threads

    def __repr__(self) -> str:
        return f"<{type(self).__name__.lower()} of {self.client.url}>"

    async def run(self, call: Call[T]) -> T:
        """Returns the result of a call."""
        return await self.threads.run(functools.partial(call.run, self.client))


class _Awaited(Generic[P, T]):
    """A method that makes a call, and returns what runs it when it is awaited."""

    def __init__(self, make: Callable[P, Call[T]]) -> None:
        self._make = make
        self.__doc__ = make.__doc__

    @overload
    def __get__(self, part: None, owner: type[Part]) -> Self: ...

    @overload
    def __get__(self, part: Part, owner: type[Part]) -> Callable[P, Awaitable[T]]: ...

    def __get__(self, part: Part | None, owner: type[Part]) -> Self | Callable[P, Awaitable[T]]:
        if part is None:
            return self
        make, run = self._make, part.run

        @functools.wraps(make)
        async def wait(*args: P.args, **kwargs: P.kwargs) -> T:
            return await run(make(*args, **kwargs))

        return wait


class Repositories(Part):
    """The repositories of a server."""

    create = _Awaited(repositories.create)
    get = _Awaited(repositories.get)
    list = _Awaited(repositories.list_page)
    delete = _Awaited(repositories.delete)
    metadata = _Awaited(repositories.metadata)
    set_metadata = _Awaited(repositories.set_metadata)
    delete_metadata = _Awaited(repositories.delete_metadata)


class Branches(Part):
    """The branches of a server's repositories."""

    create = _Awaited(branches.create)
    get = _Awaited(branches.get)
    list = _Awaited(branches.list_page)
    delete = _Awaited(branches.delete)
    reset = _Awaited(branches.reset)
    hard_reset = _Awaited(branches.hard_reset)
    changes = _Awaited(branches.changes)
    revert = _Awaited(branches.revert)
    cherry_pick = _Awaited(branches.cherry_pick)


class Tags(Part):
    """The tags of a server's repositories."""

    create = _Awaited(tags.create)
    get = _Awaited(tags.get)
    list = _Awaited(tags.list_page)
    delete = _Awaited(tags.delete)


class Workspaces(Part):
    """The workspaces of a server's repositories."""

    create = _Awaited(workspaces.create)
    get = _Awaited(workspaces.get)
    list = _Awaited(workspaces.list_page)
    discard = _Awaited(workspaces.discard)
    checkpoint = _Awaited(workspaces.checkpoint)
    restore = _Awaited(workspaces.restore)
    undo = _Awaited(workspaces.undo)
    diff = _Awaited(workspaces.diff)
    propose = _Awaited(workspaces.propose)


class Commits(Part):
    """The commits of a server's repositories."""

    commit = _Awaited(commits.commit)
    get = _Awaited(commits.get)
    log = _Awaited(commits.log)


class Refs(Part):
    """Two references of a server's repository: their differences, and merges."""

    diff = _Awaited(refs.diff)
    diff_rows = _Awaited(refs.diff_rows)
    merge = _Awaited(refs.merge)
    preview_merge = _Awaited(refs.preview_merge)
    merge_conflicts = _Awaited(refs.merge_conflicts)
    row_conflicts = _Awaited(refs.row_conflicts)
    merge_base = _Awaited(refs.merge_base)


class Operations(Part):
    """The operation logs of a server's repositories, and undo."""

    list = _Awaited(operations.list_page)
    get = _Awaited(operations.get)
    undo = _Awaited(operations.undo)
    restore_branch = _Awaited(operations.restore_branch)
    restore_tag = _Awaited(operations.restore_tag)
    restore = _Awaited(operations.restore)
    give_up = _Awaited(operations.give_up)
    undo_days = _Awaited(operations.undo_days)
    set_undo_days = _Awaited(operations.set_undo_days)


class Objects(Part):
    """The objects of a server's repositories."""

    stat = _Awaited(objects.stat)
    read_many = _Awaited(objects.read_many)
    listing = _Awaited(objects.listing)
    copy = _Awaited(objects.copy)
    delete = _Awaited(objects.delete)
    delete_many = _Awaited(objects.delete_many)
    set_user_metadata = _Awaited(objects.set_user_metadata)

    async def open(self, repository: str, reference: str, path: str) -> AsyncObject:
        """Returns the object at a path, open for reading. Raises NotFound."""
        opened = await self.run(objects.open_object(repository, reference, path))
        return AsyncObject(opened, self.threads)

    async def pages(
        self, repository: str, reference: str, *, prefix: str = "", delimiter: str = ""
    ) -> AsyncIterator[Page[Stat | CommonPrefix]]:
        """Yields all pages of a listing, one after another as they are asked for. A branch may
        change between two of them.
        """
        after, has_more = "", True
        while has_more:
            page = await self.listing(
                *(repository, reference),
                prefix=prefix,
                after=after,
                delimiter=delimiter,
                amount=MAX_AMOUNT,
            )
            yield page
            after, has_more = page.next_offset, page.has_more

    async def upload(
        self,
        repository: str,
        branch: str,
        path: str,
        chunks: Iterable[bytes] | AsyncIterable[bytes],
        *,
        content_type: str = DEFAULT_CONTENT_TYPE,
        metadata: Mapping[str, str] | None = None,
        if_absent: bool = False,
        storage_class: str = "",
        force: bool = False,
    ) -> Stat:
        """Stores an object on a branch, uncommitted, whole or not at all. Raises PreconditionFailed
        if `if_absent` is set and there is an object, and what `chunks` raises. What is not an
        asynchronous iterable is read in another thread.
        """
        options: dict[str, Any] = {
            "content_type": content_type,
            "metadata": metadata,
            "if_absent": if_absent,
            "storage_class": storage_class,
            "force": force,
        }
        with in_threads(chunks) as sent:
            return await self.run(objects.upload(repository, branch, path, sent, **options))
