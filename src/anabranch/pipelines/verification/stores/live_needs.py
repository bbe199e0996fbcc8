"""Whether what was seen missing is still needed: asked after the store, of the references as they
are by then.
"""

from __future__ import annotations

from typing import Protocol

from anabranch import _kernel as kernel
from anabranch.errors import AnabranchError, Gone, NotFound
from anabranch.model.names import encode_path
from anabranch.model.repositories.repository import Repository
from anabranch.pipelines.verification.stores.entries import RangeSource
from anabranch.pipelines.verification.stores.object_probes import Probe
from anabranch.pipelines.verification.stores.required_trees import required_trees
from anabranch.versioning.core import Core
from anabranch.versioning.records import keys

__all__ = ["FixedNeeds", "LiveNeeds", "Needs"]


class Needs(Protocol):
    """What is needed by the references of now."""

    def has_repository(self, repository: Repository) -> bool:
        """Returns whether a repository exists still."""

    def refresh(self) -> None:
        """Forgets what was read: what is asked next is read anew."""

    def needs(self, probe: Probe) -> bool:
        """Returns whether the source of an entry still needs its object."""


class FixedNeeds:
    """The needs of references that do not change."""

    def has_repository(self, repository: Repository) -> bool:  # noqa: ARG002  the protocol's
        """Returns True."""
        return True

    def refresh(self) -> None:
        """Does nothing."""

    def needs(self, probe: Probe) -> bool:  # noqa: ARG002  the protocol's
        """Returns True."""
        return True


class LiveNeeds:
    """The needs of an installation as it is now. `core` reads the store, not a snapshot."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._ranges: dict[str, set[str]] = {}

    def has_repository(self, repository: Repository) -> bool:
        """Returns whether a repository exists still."""
        try:
            return self._core.repositories.get(repository.id).partition == repository.partition
        except (NotFound, Gone):
            return False

    def refresh(self) -> None:
        """Forgets what was read: what is asked next is read anew."""
        self._ranges.clear()

    def needs(self, probe: Probe) -> bool:
        """Returns whether the source of an entry still needs its object."""
        source = probe.source
        if not self.has_repository(source.repository):
            return False
        if isinstance(source, RangeSource):
            return source.info.id in self._required_ranges(source.repository)
        keyvalue = self._core.keyvalue
        raw = keyvalue.get(source.token, encode_path(probe.path))
        # what a commit has taken over is on the list before it goes
        if raw is None or keyvalue.get(keys.CLEANUP, source.token.encode()) is not None:
            return False
        value = kernel.decode_staged(raw)[1]
        return value is not None and kernel.decode_entry(value[1])[0] == probe.entry.address

    def _required_ranges(self, repository: Repository) -> set[str]:
        known = self._ranges.get(repository.partition)
        if known is None:
            known = set()
            for tree in required_trees(self._core, repository, self._core.clock()):
                try:
                    ranges = self._core.trees.open(repository, tree).ranges()
                except AnabranchError:
                    continue  # the check of tables says so
                known.update(info.id for info in ranges)
            self._ranges[repository.partition] = known
        return known
