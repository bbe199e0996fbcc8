"""Use cases of the addresses to which a repository's notifications are sent."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from anabranch.errors import Invalid, NotFound
from anabranch.model.notifications import BodyFormat, NotificationEvent, NotificationTarget
from anabranch.outbound.http_request import check_url
from anabranch.versioning.core import Core
from anabranch.versioning.repositories.repositories import check_writable

__all__ = ["MAX_TARGETS", "MAX_URL_CHARACTERS", "Notifications"]

MAX_TARGETS = 20
"""How many addresses a repository may have."""
MAX_URL_CHARACTERS = 2048


class Notifications:
    """Use cases of addresses. No error quotes an address, which may have a secret."""

    def __init__(self, core: Core) -> None:
        self._core = core

    def list(self, repository: str) -> Sequence[NotificationTarget]:
        """Returns the addresses of a repository, the oldest first."""
        stored_repository = self._core.repositories.get(repository)
        return self._core.outbox.targets.read(stored_repository.partition)

    def add(
        self,
        repository: str,
        url: str,
        *,
        format: BodyFormat = BodyFormat.JSON,
        events: Collection[NotificationEvent] = (),
    ) -> NotificationTarget:
        """Adds an address, of all events if none are given, and returns it. Raises Invalid for
        what is no address of HTTP, and for more than MAX_TARGETS.
        """
        if len(url) > MAX_URL_CHARACTERS:
            raise Invalid(
                f"the address has {len(url):,} characters, at most {MAX_URL_CHARACTERS:,}",
                kind="invalid_url",
                hint="Give one like https://host/path.",
            )
        check_url(url)
        stored_repository = self._core.repositories.get(repository)
        check_writable(stored_repository, force=False)
        ordered = tuple(event for event in NotificationEvent if event in events)
        target = NotificationTarget(
            id=self._core.identifiers.xid(), url=url, format=format, events=ordered
        )

        def added(targets: Sequence[NotificationTarget]) -> Sequence[NotificationTarget]:
            if len(targets) >= MAX_TARGETS:
                raise Invalid(
                    f"the repository has {MAX_TARGETS} notifications already",
                    kind="too_many_notifications",
                    hint="Delete one first: `anabranch notifications list` lists them.",
                )
            return [*targets, target]

        self._core.outbox.targets.change(stored_repository, added)
        return target

    def delete(self, repository: str, target_id: str) -> None:
        """Removes an address; what waits to be sent to it is dropped. Raises NotFound."""
        stored_repository = self._core.repositories.get(repository)
        check_writable(stored_repository, force=False)

        def remaining(targets: Sequence[NotificationTarget]) -> Sequence[NotificationTarget]:
            others = [target for target in targets if target.id != target_id]
            if len(others) == len(targets):
                raise NotFound(
                    "notification not found",
                    kind="notification_not_found",
                    hint="`anabranch notifications list` lists those of a repository.",
                )
            return others

        self._core.outbox.targets.change(stored_repository, remaining)
