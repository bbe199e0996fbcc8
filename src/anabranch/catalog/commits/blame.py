"""Blame: the last commit that changed each object of a listing."""

from __future__ import annotations

from typing import NamedTuple

from anabranch.access.actors.readable_paths import ReadablePaths
from anabranch.catalog.objects.readable_listing import list_objects
from anabranch.model.commits.commit import Commit
from anabranch.model.names import decode_key
from anabranch.model.page import Page
from anabranch.versioning.core import Core
from anabranch.versioning.references.references import Resolved

__all__ = ["Blame", "LastChange"]


class LastChange(NamedTuple):
    """An object, or a common prefix of objects, and the last commit that changed it."""

    path: str
    is_prefix: bool
    commit: Commit


class Blame:
    """Use cases of last changes."""

    def __init__(self, core: Core) -> None:
        self._core = core

    def page(
        self,
        repository: str,
        reference: str,
        *,
        prefix: str = "",
        after: str = "",
        delimiter: str = "",
        amount: int,
        readable: ReadablePaths | None = None,
    ) -> Page[LastChange]:
        """Returns a page of the objects and common prefixes at the commit of a reference, each with
        the last commit that changed it. Staged changes are not included. The page holds `readable`
        objects, all if that is None.
        """
        core = self._core
        with core.prefetch(("commit at", repository, reference)):
            stored_repository = core.repositories.get(repository)
            commit = core.references.commit(stored_repository, reference)
        page = {"prefix": prefix, "after": after, "delimiter": delimiter}
        listing = list_objects(
            core, stored_repository, Resolved(commit.id), readable, **page, amount=amount
        )
        rows = [(decode_key(key), value is None) for key, value in listing.rows()]
        objects = [path for path, is_prefix in rows if not is_prefix]
        prefixes = [path for path, is_prefix in rows if is_prefix]
        commits = core.last_changes.find(stored_repository, commit, objects, prefixes)
        by_path = dict(zip([*objects, *prefixes], commits, strict=True))
        items = [LastChange(path, is_prefix, by_path[path]) for path, is_prefix in rows]
        return Page(items, listing.has_more, items[-1].path if listing.has_more else "")
