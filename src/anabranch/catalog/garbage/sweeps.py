"""Use cases of sweeps, for collectors that have access to a server but not to its database."""

from __future__ import annotations

import re
from collections.abc import Sequence

from anabranch.catalog.garbage.expired_commits import record_expired
from anabranch.errors import Invalid
from anabranch.versioning.core import Core
from anabranch.versioning.garbage.removal_counts import NamespaceSweeps

__all__ = ["MAX_TOMBSTONES", "Sweeps"]

MAX_TOMBSTONES = 1000
"""The largest number of tombstones that one request can write or claim."""

_SWEEP = re.compile("[0-9a-v]{20}")


class Sweeps:
    """Use cases of sweeps; see `versioning.garbage.sweeps`. All methods raise NotFound for the
    repository, and Invalid for an invalid id of a run.
    """

    def __init__(self, core: Core) -> None:
        self._core = core

    def ended_count(self, repository: str) -> int:
        """Returns the number of sweeps, of all repositories, that have begun and ended so far."""
        self._core.repositories.get(repository)
        return self._core.sweeps.ended_count()

    def of_repository(self, repository: str) -> NamespaceSweeps:
        """Returns the sweeps of a repository."""
        namespace = self._core.repositories.get(repository).storage_namespace
        return self._core.removal_counts.sweeps_of(namespace)

    def begin(self, repository: str, sweep: str) -> None:
        """Registers a sweep."""
        self._core.removal_counts.begin(self._check(repository, sweep), sweep)

    def renew(self, repository: str, sweep: str) -> None:
        """Renews a sweep's lease. Raises Conflict (kind sweep_expired) if it has expired."""
        self._check(repository, sweep)
        self._core.sweeps.renew(sweep)

    def record_expired(self, repository: str, sweep: str) -> None:
        """Renews a sweep's lease, and records the trees of the expired commits of all
        repositories.
        """
        self.renew(repository, sweep)
        record_expired(self._core)

    def add_tombstones(self, repository: str, sweep: str, addresses: Sequence[str]) -> None:
        """Renews the lease, and writes tombstones of full addresses. Raises Invalid for more than
        MAX_TOMBSTONES, and for an address outside of the repository's storage namespace.
        """
        root = f"{self._check(repository, sweep).rstrip('/')}/"
        _require_few(addresses)
        for address in addresses:
            if not address.startswith(root):
                raise Invalid(
                    f"{address}: not in the storage namespace {root}", kind="address_elsewhere"
                )
        self._core.sweeps.renew(sweep)
        self._core.sweeps.add_tombstones(sweep, addresses)

    def claim(self, repository: str, sweep: str, addresses: Sequence[str]) -> list[bool]:
        """Returns for each full address whether the sweep counts its object as removed. Raises
        Invalid for more than MAX_TOMBSTONES.
        """
        self._check(repository, sweep)
        _require_few(addresses)
        return self._core.sweeps.claim_tombstones(sweep, addresses)

    def remove_tombstones(self, repository: str, sweep: str) -> None:
        """Removes all tombstones of a sweep."""
        self._check(repository, sweep)
        self._core.sweeps.remove_tombstones(sweep)

    def end(self, repository: str, sweep: str) -> None:
        """Removes a sweep and its tombstones."""
        self._core.removal_counts.end(self._check(repository, sweep), sweep)

    def _check(self, repository: str, sweep: str) -> str:
        """Returns the repository's storage namespace. Raises Invalid for an invalid id of a run."""
        namespace = self._core.repositories.get(repository).storage_namespace
        if not _SWEEP.fullmatch(sweep):
            raise Invalid(f"{sweep!r} is not the id of a run", kind="invalid_sweep")
        return namespace


def _require_few(addresses: Sequence[str]) -> None:
    if len(addresses) > MAX_TOMBSTONES:
        raise Invalid(f"at most {MAX_TOMBSTONES} addresses at a time", kind="too_many_addresses")
