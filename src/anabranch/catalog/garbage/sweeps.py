"""Use cases of sweeps: for collectors that reach a server but not its database."""

from __future__ import annotations

import re
from collections.abc import Sequence

from anabranch.errors import Invalid
from anabranch.versioning.core import Core

__all__ = ["MAX_TOMBSTONES", "Sweeps"]

MAX_TOMBSTONES = 1000

_SWEEP = re.compile("[0-9a-v]{20}")


class Sweeps:
    """Use cases of sweeps; see `versioning.garbage.sweeps`. All methods raise NotFound for the
    repository, and Invalid for an invalid id of a run.
    """

    def __init__(self, core: Core) -> None:
        self._core = core

    def begun(self, repository: str) -> int:
        """Returns the number of sweeps, of all repositories, that have begun so far."""
        self._core.repositories.get(repository)
        return self._core.sweeps.begun()

    def begin(self, repository: str, sweep: str) -> None:
        """Registers a sweep."""
        self._check(repository, sweep)
        self._core.sweeps.begin(sweep)

    def renew(self, repository: str, sweep: str) -> None:
        """Renews a sweep's lease. Raises Conflict if it has lost it."""
        self._check(repository, sweep)
        self._core.sweeps.renew(sweep)

    def condemn(self, repository: str, sweep: str, addresses: Sequence[str]) -> None:
        """Writes tombstones of full addresses, at most MAX_TOMBSTONES. Raises Invalid for more, and
        for one that is not in the repository's storage namespace.
        """
        root = f"{self._check(repository, sweep).rstrip('/')}/"
        if len(addresses) > MAX_TOMBSTONES:
            raise Invalid(
                f"at most {MAX_TOMBSTONES} addresses at a time", kind="too_many_addresses"
            )
        for address in addresses:
            if not address.startswith(root):
                raise Invalid(
                    f"{address}: not in the storage namespace {root}", kind="address_elsewhere"
                )
        self._core.sweeps.renew(sweep)
        self._core.sweeps.condemn(sweep, addresses)

    def spare(self, repository: str, sweep: str) -> None:
        """Removes all tombstones of a sweep."""
        self._check(repository, sweep)
        self._core.sweeps.spare(sweep)

    def end(self, repository: str, sweep: str) -> None:
        """Removes a sweep and its tombstones."""
        self._check(repository, sweep)
        self._core.sweeps.end(sweep)

    def _check(self, repository: str, sweep: str) -> str:
        """Returns the repository's storage namespace."""
        namespace = self._core.repositories.get(repository).storage_namespace
        if not _SWEEP.fullmatch(sweep):
            raise Invalid(f"{sweep!r} is not the id of a run", kind="invalid_sweep")
        return namespace
