"""The parts of a lake on a server, whose methods wait for the response."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Generic, ParamSpec, Self, TypeVar, overload

from anabranch.client.rest_client import RestClient
from anabranch.lake.paging import all_pages
from anabranch.model.objects.stat import CommonPrefix, Stat
from anabranch.model.page import MAX_AMOUNT, Page
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
    """A part of a lake; `client` sends its requests."""

    def __init__(self, client: RestClient) -> None:
        self.client = client

    def __repr__(self) -> str:
        return f"<{type(self).__name__.lower()} of {self.client.url}>"


class _Waiting(Generic[P, T]):
    """A method that makes a call, runs it and returns its result."""

    def __init__(self, make: Callable[P, Call[T]]) -> None:
        self._make = make
        self.__doc__ = make.__doc__

    @overload
    def __get__(self, part: None, owner: type[Part]) -> Self: ...

    @overload
    def __get__(self, part: Part, owner: type[Part]) -> Callable[P, T]: ...

    def __get__(self, part: Part | None, owner: type[Part]) -> Self | Callable[P, T]:
        if part is None:
            return self
        make, client = self._make, part.client

        @functools.wraps(make)
        def wait(*args: P.args, **kwargs: P.kwargs) -> T:
            return make(*args, **kwargs).run(client)

        return wait


class Repositories(Part):
    """The repositories of a server."""

    create = _Waiting(repositories.create)
    get = _Waiting(repositories.get)
    list = _Waiting(repositories.list_page)
    delete = _Waiting(repositories.delete)
    metadata = _Waiting(repositories.metadata)
    set_metadata = _Waiting(repositories.set_metadata)
    delete_metadata = _Waiting(repositories.delete_metadata)


class Branches(Part):
    """The branches of a server's repositories."""

    create = _Waiting(branches.create)
    get = _Waiting(branches.get)
    list = _Waiting(branches.list_page)
    delete = _Waiting(branches.delete)
    reset = _Waiting(branches.reset)
    hard_reset = _Waiting(branches.hard_reset)
    changes = _Waiting(branches.changes)
    revert = _Waiting(branches.revert)
    cherry_pick = _Waiting(branches.cherry_pick)


class Tags(Part):
    """The tags of a server's repositories."""

    create = _Waiting(tags.create)
    get = _Waiting(tags.get)
    list = _Waiting(tags.list_page)
    delete = _Waiting(tags.delete)


class Commits(Part):
    """The commits of a server's repositories."""

    commit = _Waiting(commits.commit)
    get = _Waiting(commits.get)
    log = _Waiting(commits.log)


class Refs(Part):
    """Two references of a server's repository: their differences, and merges."""

    diff = _Waiting(refs.diff)
    diff_rows = _Waiting(refs.diff_rows)
    merge = _Waiting(refs.merge)
    preview_merge = _Waiting(refs.preview_merge)
    merge_conflicts = _Waiting(refs.merge_conflicts)
    row_conflicts = _Waiting(refs.row_conflicts)
    merge_base = _Waiting(refs.merge_base)


class Workspaces(Part):
    """The workspaces of a server's repositories."""

    create = _Waiting(workspaces.create)
    get = _Waiting(workspaces.get)
    list = _Waiting(workspaces.list_page)
    discard = _Waiting(workspaces.discard)
    checkpoint = _Waiting(workspaces.checkpoint)
    restore = _Waiting(workspaces.restore)
    undo = _Waiting(workspaces.undo)
    diff = _Waiting(workspaces.diff)
    propose = _Waiting(workspaces.propose)


class Operations(Part):
    """The operation logs of a server's repositories, and undo."""

    list = _Waiting(operations.list_page)
    get = _Waiting(operations.get)
    undo = _Waiting(operations.undo)
    restore_branch = _Waiting(operations.restore_branch)
    restore_tag = _Waiting(operations.restore_tag)
    restore = _Waiting(operations.restore)
    give_up = _Waiting(operations.give_up)
    undo_days = _Waiting(operations.undo_days)
    set_undo_days = _Waiting(operations.set_undo_days)


class Objects(Part):
    """The objects of a server's repositories."""

    stat = _Waiting(objects.stat)
    open = _Waiting(objects.open_object)
    read_many = _Waiting(objects.read_many)
    listing = _Waiting(objects.listing)
    upload = _Waiting(objects.upload)
    copy = _Waiting(objects.copy)
    delete = _Waiting(objects.delete)
    delete_many = _Waiting(objects.delete_many)
    set_user_metadata = _Waiting(objects.set_user_metadata)

    def pages(
        self, repository: str, reference: str, *, prefix: str = "", delimiter: str = ""
    ) -> Iterator[Page[Stat | CommonPrefix]]:
        """Yields all pages of a listing, one after another as they are asked for. A branch may
        change between two of them.
        """
        return all_pages(
            lambda after: self.listing(
                *(repository, reference),
                prefix=prefix,
                after=after,
                delimiter=delimiter,
                amount=MAX_AMOUNT,
            )
        )
