"""Sweeps: what a collector does to the records of one, and the use cases of collectors that have
access to a server but not to its database.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from anabranch.catalog.garbage.expired_commits import record_expired
from anabranch.errors import Invalid
from anabranch.model.tables.table_area import is_table_file
from anabranch.versioning.core import Core
from anabranch.versioning.garbage.removal_counts import NamespaceSweeps
from anabranch.versioning.garbage.retention import CommitGraphs

__all__ = ["MAX_TOMBSTONES", "Sweep", "Sweeps"]

MAX_TOMBSTONES = 1000
"""The largest number of tombstones that one request can write or claim."""

_SWEEP = re.compile("[0-9a-v]{20}")


class Sweep(NamedTuple):
    """A sweep of the repository with a storage namespace; `versioning.garbage.sweeps` describes the
    protocol. `graphs` are commits that were read before.
    """

    core: Core
    namespace: str
    id: str
    graphs: CommitGraphs | None = None

    def begin(self) -> None:
        """Registers the sweep."""
        self.core.removal_counts.begin(self.namespace, self.id)

    def renew(self) -> None:
        """Renews the lease. Raises Conflict (kind sweep_expired) if it has expired."""
        self.core.sweeps.renew(self.id)

    def record_expired(self) -> None:
        """Records the trees of the expired commits of all repositories, before the sweep removes
        objects of them. Raises Gone, Corrupt.
        """
        record_expired(self.core, self.graphs)

    def add_tombstones(self, addresses: Sequence[str]) -> None:
        """Writes tombstones of full addresses, which cannot be referenced from then on. Before the
        first ones of files of tables it records that a sweep may remove such files.
        """
        if any(is_table_file(address) for address in addresses):
            self.core.record_admission.record_swept()
        self.core.sweeps.add_tombstones(self.id, addresses)

    def claim_removed(self, addresses: Sequence[str]) -> Sequence[bool]:
        """Returns for each full address whether the sweep counts its object, which it has found and
        removed; `versioning.garbage.removal_counts` describes the protocol.
        """
        return self.core.sweeps.claim_tombstones(self.id, addresses)

    def remove_tombstones(self) -> None:
        """Removes all tombstones."""
        self.core.sweeps.remove_tombstones(self.id)

    def end(self) -> None:
        """Removes the sweep and its tombstones."""
        self.core.removal_counts.end(self.namespace, self.id)


class Sweeps:
    """Use cases of sweeps. All methods raise NotFound for the repository."""

    def __init__(self, core: Core) -> None:
        self._core = core

    def ended_count(self, repository: str) -> int:
        """Returns the number of sweeps, of all repositories, that have begun and ended so far."""
        self._core.repositories.get(repository)
        return self._core.sweeps.ended_count()

    def tables_swept(self) -> bool:
        """Returns whether it is on record that a sweep may have removed files of tables."""
        return self._core.record_admission.is_swept()

    def of_repository(self, repository: str) -> NamespaceSweeps:
        """Returns the sweeps of a repository."""
        namespace = self._core.repositories.get(repository).storage_namespace
        return self._core.removal_counts.sweeps_of(namespace)

    def sweep(self, repository: str, sweep: str) -> Sweep:
        """Returns a sweep of a repository. Raises Invalid for an invalid id of a run."""
        namespace = self._core.repositories.get(repository).storage_namespace
        if not _SWEEP.fullmatch(sweep):
            raise Invalid(f"{sweep!r} is not the id of a run", kind="invalid_sweep")
        return Sweep(self._core, namespace, sweep)

    def add_tombstones(self, repository: str, sweep: str, addresses: Sequence[str]) -> None:
        """Renews the lease, and writes tombstones of full addresses. Raises Invalid for more than
        MAX_TOMBSTONES, and for an address outside of the repository's storage namespace.
        """
        found = self.sweep(repository, sweep)
        root = f"{found.namespace.rstrip('/')}/"
        _require_few(addresses)
        for address in addresses:
            if not address.startswith(root):
                raise Invalid(
                    f"{address}: not in the storage namespace {root}", kind="address_elsewhere"
                )
        found.renew()
        found.add_tombstones(addresses)

    def claim(self, repository: str, sweep: str, addresses: Sequence[str]) -> list[bool]:
        """Returns for each full address whether the sweep counts its object as removed. Raises
        Invalid for more than MAX_TOMBSTONES.
        """
        _require_few(addresses)
        return [*self.sweep(repository, sweep).claim_removed(addresses)]


def _require_few(addresses: Sequence[str]) -> None:
    if len(addresses) > MAX_TOMBSTONES:
        raise Invalid(f"at most {MAX_TOMBSTONES} addresses at a time", kind="too_many_addresses")
