"""Migration from a lakeFS database: a survey, and then a copy or a change in place.

`survey` changes nothing and returns the report; `run` migrates, unless the survey found a problem
that prevents it. In place, only the records of repositories are changed whose storage namespace
Anabranch normalizes; lakeFS can still read them.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable
from typing import NamedTuple, Protocol

from anabranch.errors import Busy, Conflict, Corrupt, Invalid
from anabranch.keyvalue.contract import Expect, KeyValueStore, Write
from anabranch.model.secret import Secret
from anabranch.pipelines.migration.copier import Copier, Fence
from anabranch.pipelines.migration.report import Report, Target
from anabranch.pipelines.migration.storage import Objects, StorageCheck, stored_record
from anabranch.pipelines.migration.survey import Source, Survey, SurveyedRepository
from anabranch.versioning.records import keys

__all__ = ["Database", "Destination", "Migration"]


_CONFLICTS = {
    "taken": "another repository of this name",
    "differs": "the repository with other content: source or target changed after the migration",
}


class Database(Source, Protocol):
    """The source, which also lists its partitions and clients; see `keyvalue.postgres.snapshot`."""

    name: str

    def partitions(self) -> Iterable[tuple[bytes, int]]:
        """Returns all partitions, each with its number of keys."""

    def active_clients(self) -> list[str]:
        """Returns the names of other programs that are connected to the database."""


class Destination(NamedTuple):
    """The destination of a migration: a key-value store, its block store and the type of that, and
    the key with which its servers encrypt secrets, None if unknown. `in_place` if the key-value
    store is the source.
    """

    keyvalue: KeyValueStore
    blocks: Objects
    blockstore_type: str
    key: Secret | None
    in_place: bool = False


class Migration:
    """A migration of `database` to a destination. `secret` is lakeFS's `auth.encrypt.secret_key`;
    `names` are the repositories to migrate, all if there are none.
    """

    def __init__(
        self,
        database: Database,
        destination: Destination,
        *,
        secret: Secret | None = None,
        names: frozenset[str] = frozenset(),
    ) -> None:
        self._database = database
        self._to = destination
        self._secret = secret
        self._names = names
        self._storage = StorageCheck(database, destination.blocks, destination.blockstore_type)
        self._fence = Fence(destination.keyvalue)
        self._copier = Copier(database, destination.keyvalue, self._fence)
        self.report = Report(
            source=database.name,
            in_place=destination.in_place,
            active_clients=database.active_clients(),
        )
        self._survey = Survey(database, self.report, names)

    def survey(self) -> Report:
        """Reads the whole source and returns the report. Changes nothing. Raises Invalid (kind
        wrong_encrypt_secret) if the secret is not lakeFS's.
        """
        self._survey.run((raw, number) for raw, number in self._database.partitions())
        access = self._survey.access
        if self._to.in_place:
            self._check_in_place()
        else:
            access.decrypt(self._secret)
            access.compare(self._to.keyvalue, self._to.key)
        for surveyed in self._survey.repositories:
            self._storage.check(surveyed)
            surveyed.report.target = self._target(surveyed)
        self.report.pending = self._is_pending()
        unknown = self._names - {surveyed.repository.id for surveyed in self._survey.repositories}
        if unknown:
            self.report.warn(f"lakeFS has no repository {', '.join(sorted(unknown))}")
        return self.report

    def require_possible(self) -> None:
        """Raises Corrupt if records are unreadable, Conflict if the target has repositories of
        these names with other content, and Invalid if, in place, the settings' key is not lakeFS's.
        """
        if self.report.unreadable_records:
            first = self.report.unreadable[0]
            raise Corrupt(
                f"{self.report.unreadable_records} records cannot be read, the first in partition "
                f"{first.partition} at key {first.key}: {first.reason}",
                path=f"{first.partition} {first.key}",
                kind="unreadable_records",
                hint="Nothing was changed. Repair them with lakeFS, or restore a backup of its "
                "database, or migrate other repositories with --repository.",
            )
        if self._to.in_place and self.report.access.omitted:
            raise Invalid(
                self.report.access.omitted,
                kind="wrong_encrypt_secret",
                hint="Set it to the value in lakeFS's configuration.",
            )
        for target, text in _CONFLICTS.items():
            names = [
                repository.name
                for repository in self.report.repositories
                if repository.target == target
            ]
            if names:
                raise Conflict(
                    f"the target has {text}: {', '.join(names)}",
                    kind="repository_already_exists",
                    hint="Nothing was changed. Delete it in the target, or migrate others with "
                    "--repository.",
                )

    def run(self) -> Report:
        """Copies missing records to the target, or changes records in place, and returns the
        report. Raises the errors of `require_possible`, before any change, and Busy.
        """
        self.require_possible()
        self.report.dry_run = False
        try:
            if self._to.in_place:
                self._change_in_place()
            else:
                self._copy()
        finally:
            self.report.written += self._copier.copied
        return self.report

    def _is_pending(self) -> bool:
        if self._to.in_place:
            if any(repository.normalized for repository in self.report.repositories):
                return True
            return self._survey.access.is_pending(self._to.keyvalue)
        if any(repository.target == "absent" for repository in self.report.repositories):
            return True
        return self._survey.access.is_pending(self._to.keyvalue)

    def _check_in_place(self) -> None:
        """Reports whether a server with the destination's key can decrypt lakeFS's key pairs."""
        access, report = self._survey.access, self.report.access
        if self._secret is not None:
            access.decrypt(self._secret)
        if not report.administrator:
            self.report.warn(
                "lakeFS has no administrator; create one with `anabranch auth recover`"
            )
        if not (report.key_pairs or report.user_key_pairs):
            return
        if self._to.key is None or not access.can_decrypt(self._to.key):
            report.omitted = (
                "the settings' auth.encrypt.secret_key is not lakeFS's, so no user could log in"
            )
        else:
            access.decrypt(self._to.key)

    def _target(self, surveyed: SurveyedRepository) -> Target:
        if self._to.in_place:
            return "in place"
        if surveyed.repository.in_deletion:
            return "omitted"
        return self._copier.compare(surveyed, stored_record(surveyed, self._storage))

    def _change_in_place(self) -> None:
        for surveyed in self._survey.repositories:
            record = stored_record(surveyed, self._storage)
            if record == surveyed.record:
                continue
            key = keys.repository(surveyed.repository.id)
            write = Write(keys.GRAVELER, key, record)
            if not self._to.keyvalue.apply([write], [Expect(keys.GRAVELER, key, surveyed.record)]):
                raise Busy(
                    f"repository {surveyed.repository.id} was changed by another program",
                    hint="Stop lakeFS and run the command again.",
                )
            self.report.written += 1
        self._copy_access(self._to.keyvalue.apply)

    def _copy(self) -> None:
        for surveyed in self._survey.repositories:
            if surveyed.report.target == "absent":
                self._copier.copy(surveyed, stored_record(surveyed, self._storage))
        self._copy_access(self._fence.apply)
        self._fence.end()

    def _copy_access(self, apply: Callable[[list[Write], list[Expect]], bool]) -> None:
        if self._to.key is None:
            return
        access = self._survey.access
        writes, conditions = access.writes(self._to.keyvalue, self._to.key, secrets.token_bytes)
        if not writes:
            return
        if not apply(writes, conditions):
            raise Busy(
                "the target's users were changed during the migration",
                hint="Run the command again.",
            )
        self.report.written += len(writes)
