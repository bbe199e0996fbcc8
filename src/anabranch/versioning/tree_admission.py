"""Trees that a commit takes from elsewhere, not from staged changes or another commit.

Their objects may be any, those included that garbage collection is about to remove. While a sweep
is under way, such a tree may bring in no object that is stored in a repository's own data.
"""

from __future__ import annotations

import re

from anabranch.errors import Conflict
from anabranch.model.names import path_of
from anabranch.model.repository import Repository
from anabranch.versioning.entries import entry_from
from anabranch.versioning.extra_writes import ExtraWrites
from anabranch.versioning.sweeps import SweepRecords
from anabranch.versioning.trees import Trees

__all__ = ["TreeAdmission"]

_PAGE = 1000
_OURS = re.compile(r"(?:^|/)data/[0-9a-v]{20}/[0-9a-v]{20}(?:,[\w-]+)?$")
"""What can be collected: addresses as they are made for uploads."""


class TreeAdmission:
    """Decides on commits of such trees."""

    def __init__(self, sweeps: SweepRecords, trees: Trees) -> None:
        self._sweeps = sweeps
        self._trees = trees

    def admit(self, repository: Repository, head: str, metarange_id: str) -> ExtraWrites:
        """Decides on the commit of a tree over the tree of a branch's head.

        Raises Conflict (kind sweep_under_way) where it brings in an object that may be collected.
        """
        names, unchanged = self._sweeps.under_way()
        if names:
            path = self._collectable(repository, head, metarange_id)
            if path is not None:
                raise Conflict(
                    f"garbage collection is removing objects, and {path} may be one of them",
                    kind="sweep_under_way",
                    hint="Try again when it is over.",
                )
        return (), (unchanged,)

    def _collectable(self, repository: Repository, head: str, metarange_id: str) -> str | None:
        """Returns the path of a changed object with an address that can be collected, or None."""
        before = self._trees.open(repository, head)
        tree = self._trees.open(repository, metarange_id)
        after, more = b"", True
        while more:
            page = self._trees.read(before.diff, tree, after=after, amount=_PAGE)
            for _, key, _, value in page.rows:
                if value is not None and _OURS.search(entry_from(value).address):
                    return path_of(key)
                after = key
            more = page.has_more
        return None
