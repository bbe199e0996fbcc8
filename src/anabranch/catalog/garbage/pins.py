"""Use cases of pins, for jobs that have access to a server but not to its database."""

from __future__ import annotations

import re
from collections.abc import Sequence

from anabranch.errors import Busy, Invalid
from anabranch.model.repositories.repository import Repository
from anabranch.versioning.core import Core
from anabranch.versioning.garbage.pins import MAX_PIN_SECONDS

__all__ = ["MAX_COMMITS", "MAX_PINS", "Pins"]

MAX_COMMITS = 1000
"""Most commits of one pin."""

MAX_PINS = 1000
"""Most pins of one user in one repository."""

_PIN = re.compile("[0-9a-z-]{16,96}")


class Pins:
    """Use cases of pins; see `versioning.garbage.pins`. Users choose the names of their pins; only
    the owner can renew or release a pin. All methods raise NotFound for the repository, and Invalid
    for an invalid name of a pin or too long a duration.
    """

    def __init__(self, core: Core) -> None:
        self._core = core

    def put(
        self, repository: str, user: str, pin: str, commit_ids: Sequence[str], seconds: int
    ) -> None:
        """Pins commits, at most MAX_COMMITS, by their full ids, for `seconds`. Replaces the commits
        of an existing pin of this name.

        Raises NotFound for a missing commit, Conflict (kind commit_expired) for one that has
        expired while a sweep runs, Busy if the user has too many pins.
        """
        stored_repository, name = self._resolve(repository, user, pin)
        _require_seconds(seconds)
        if not 0 < len(commit_ids) <= MAX_COMMITS:
            raise Invalid(f"a pin has 1 to {MAX_COMMITS} commits", kind="invalid_pin")
        commits = list(dict.fromkeys(commit_ids))
        for commit_id in commits:
            self._core.commits.get(stored_repository, commit_id)
        if not self._core.pins.exists(self._core.pins.by_name(stored_repository, name)):
            self._require_capacity(stored_repository, user)
        self._core.pins.pin(stored_repository, commits, name=name, seconds=seconds)

    def renew(self, repository: str, user: str, pin: str, seconds: int) -> None:
        """Renews a pin for `seconds`. Raises Conflict (kind pin_lost) if it has expired."""
        stored_repository, name = self._resolve(repository, user, pin)
        _require_seconds(seconds)
        self._core.pins.renew(self._core.pins.by_name(stored_repository, name), seconds)

    def release(self, repository: str, user: str, pin: str) -> None:
        """Removes a pin if it exists."""
        stored_repository, name = self._resolve(repository, user, pin)
        self._core.pins.release(self._core.pins.by_name(stored_repository, name))

    def _require_capacity(self, repository: Repository, user: str) -> None:
        pins = self._core.pins
        if pins.count(repository, f"{user}/", MAX_PINS) < MAX_PINS:
            return
        pins.commits(repository)  # removes expired pins
        if pins.count(repository, f"{user}/", MAX_PINS) == MAX_PINS:
            raise Busy(
                f"the user has {MAX_PINS} pins in the repository",
                kind="too_many_pins",
                hint="Release some pins, or wait until they expire.",
            )

    def _resolve(self, repository: str, user: str, pin: str) -> tuple[Repository, str]:
        """Returns the repository, and the pin's name with its user's."""
        stored_repository = self._core.repositories.get(repository)
        if not _PIN.fullmatch(pin):
            raise Invalid(
                f"{pin!r} is not a valid name of a pin",
                kind="invalid_pin",
                hint="Use 16 to 96 characters of a-z, 0-9 and -, such as a random UUID.",
            )
        return stored_repository, f"{user}/{pin}"


def _require_seconds(seconds: int) -> None:
    if not 0 < seconds <= MAX_PIN_SECONDS:
        raise Invalid(
            f"a pin lasts 1 to {MAX_PIN_SECONDS} seconds, not {seconds}",
            kind="invalid_pin",
            hint="Renew it while the job runs.",
        )
