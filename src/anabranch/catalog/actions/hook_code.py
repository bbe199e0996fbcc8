"""The code of a hook: where it is, who wrote it, and so what the hook may have.

What was on the branch before the event has the authors that its history names; what the event
brings, those that were found when it happened. A file that has changed since then, or whose authors
are not known, leaves the hook without any permission.
"""

from __future__ import annotations

from collections.abc import Sequence

from anabranch.actions.files.action import Action
from anabranch.actions.hooks.contract import HookSettings
from anabranch.actions.runs.event import Event
from anabranch.errors import HookFailed
from anabranch.model.caller import UNKNOWN, Principal
from anabranch.model.objects.entry import Entry
from anabranch.model.repositories.repository import Repository
from anabranch.patterns.glob import glob
from anabranch.versioning.core import Core

__all__ = ["LoadedCode"]


class LoadedCode:
    """The code of one run of a hook: its action file, and the scripts that it has loaded."""

    def __init__(
        self,
        core: Core,
        settings: HookSettings,
        event: Event,
        action: Action,
    ) -> None:
        self._core = core
        self._settings = settings
        self._event = event
        self._files = {action.file: action.address}
        """The addresses of the loaded files by their paths."""
        self._authors: dict[str, Sequence[Principal]] = {}

    def add(self, path: str) -> Entry:
        """Returns the entry of a script, whose authors count from now on. Raises NotFound."""
        entry = self._core.objects.get(self._repository(), self._event.code.reference, path)
        self._files[path] = entry.address
        return entry

    def require_variables(self) -> None:
        """Raises HookFailed unless the settings name the branch that all of the code is on."""
        if self._settings.trusts_authors:
            return
        place = self._event.code
        if not any(map(self._is_named_by, self._settings.environment_branches)):
            where = f"the branch {place.branch}" if place.branch else "no branch"
            raise HookFailed(
                "the server's settings do not let it use variables of the environment: it is on "
                f"{where} of {self._event.repository}",
                hint="The server's operator can name its branch in actions.env.branches.",
            )
        for path, address in self._files.items():
            if self._address_in(place.settled, path) != address:
                raise HookFailed(
                    "it cannot use variables of the environment yet: "
                    f"{path} is not on the branch {place.branch} before this change"
                )

    def _is_named_by(self, pattern: str) -> bool:
        repository, _, branch = pattern.partition("/")
        event = self._event
        return glob(repository).matches(event.repository) and glob(branch).matches(
            event.code.branch
        )

    def authors(self) -> list[Principal]:
        """Returns the authors of all loaded files."""
        for path, address in self._files.items():
            if path not in self._authors:
                self._authors[path] = self._authors_of(path, address)
        return [author for authors in self._authors.values() for author in authors]

    def _authors_of(self, path: str, address: str) -> Sequence[Principal]:
        place = self._event.code
        brought = place.brought.get(path)
        if brought is not None and brought.address == address:
            return brought.authors
        if not address or self._address_in(place.base, path) != address:
            return (UNKNOWN,)
        repository = self._repository()
        commit = self._core.commits.get(repository, place.base)
        return self._core.code_authors.find(repository, commit, path)

    def _address_in(self, commit_id: str, path: str) -> str | None:
        if not commit_id:
            return None
        repository = self._repository()
        resolved = self._core.references.resolve(repository, commit_id)
        entry = self._core.objects.entry_at(repository, resolved, path)
        return None if entry is None else entry.address

    def _repository(self) -> Repository:
        return self._core.repositories.get(self._event.repository)
