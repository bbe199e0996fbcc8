"""A migration from a lakeFS database: a survey, and then the copy or the change in place.

`survey` changes nothing and returns the report; `run` continues where a survey has found nothing
that forbids it. In place, only repositories whose storage namespace Anabranch spells otherwise get
another record, which lakeFS reads as before.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from typing import NamedTuple, Protocol

from anabranch.errors import Busy, Conflict, Corrupt, Invalid
from anabranch.keyvalue.contract import Expect, KeyValueStore, Write
from anabranch.model.secret import Secret
from anabranch.pipelines.migration.copier import Copier, Fence
from anabranch.pipelines.migration.report import Report, Target
from anabranch.pipelines.migration.storage import Objects, StorageCheck, stored_record
from anabranch.pipelines.migration.survey import Found, Source, Survey
from anabranch.versioning.records import keys

__all__ = ["Database", "Destination", "Migration"]


_CONFLICTS = {
    "taken": "another repository of this name",
    "differs": "the repository, with other content: one of the two has changed since it came over",
}


class Database(Source, Protocol):
    """The source, which also lists its partitions and clients; see `keyvalue.postgres.snapshot`."""

    name: str

    def partitions(self) -> Iterable[tuple[bytes, int]]:
        """Returns all partitions, with the numbers of their keys."""

    def active_clients(self) -> list[str]:
        """Returns the names of other programs that use the database now."""


class Destination(NamedTuple):
    """Where a migration goes: a key-value store, the store of its objects and the type of that
    store, and the key that its servers encrypt secrets with, if it is known. `in_place` if the
    key-value store is the source.
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
        for found in self._survey.repositories:
            self._storage.check(found)
            found.report.target = self._target(found)
        self.report.pending = self._is_pending()
        unknown = self._names - {found.repository.id for found in self._survey.repositories}
        if unknown:
            self.report.warn(f"lakeFS has no repository {', '.join(sorted(unknown))}")
        return self.report

    def require_possible(self) -> None:
        """Raises Corrupt if records are unreadable, Conflict if the target holds repositories of
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
                "database; --repository leaves other repositories out.",
            )
        if self._to.in_place and self.report.access.omitted:
            raise Invalid(
                self.report.access.omitted,
                kind="wrong_encrypt_secret",
                hint="Set it to the value in lakeFS's configuration.",
            )
        for target, text in _CONFLICTS.items():
            names = [each.name for each in self.report.repositories if each.target == target]
            if names:
                raise Conflict(
                    f"the target has {text}: {', '.join(names)}",
                    kind="repository_already_exists",
                    hint="Nothing was changed. Delete it there, or migrate others by --repository.",
                )

    def run(self) -> Report:
        """Copies what the target lacks, or changes records in place, and returns the report. Raises
        what `require_possible` raises, before anything is changed, and Busy.
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
            return any(each.normalized for each in self.report.repositories)
        if any(each.target == "absent" for each in self.report.repositories):
            return True
        return self._survey.access.is_lacking(self._to.keyvalue)

    def _check_in_place(self) -> None:
        """Notes whether a server with the destination's key can decrypt lakeFS's key pairs."""
        access, report = self._survey.access, self.report.access
        if self._secret is not None:
            access.decrypt(self._secret)
        if not report.administrator:
            self.report.warn(
                "lakeFS has no administrator of its own; `anabranch auth recover` makes one"
            )
        if not (report.key_pairs or report.other_key_pairs):
            return
        if self._to.key is None or not access.opened_by(self._to.key):
            report.omitted = (
                "the settings' auth.encrypt.secret_key is not lakeFS's, so no user could log in"
            )

    def _target(self, found: Found) -> Target:
        if self._to.in_place:
            return "in place"
        if found.repository.in_deletion:
            return "omitted"
        return self._copier.compare(found, stored_record(found, self._storage))

    def _change_in_place(self) -> None:
        for found in self._survey.repositories:
            record = stored_record(found, self._storage)
            if record == found.record:
                continue
            key = keys.repository(found.repository.id)
            write = Write(keys.GRAVELER, key, record)
            if not self._to.keyvalue.apply([write], [Expect(keys.GRAVELER, key, found.record)]):
                raise Busy(
                    f"repository {found.repository.id} was changed by another program",
                    hint="Stop lakeFS and run it again.",
                )
            self.report.written += 1

    def _copy(self) -> None:
        for found in self._survey.repositories:
            if found.report.target == "absent":
                self._copier.copy(found, stored_record(found, self._storage))
        self._copy_access()
        self._fence.end()

    def _copy_access(self) -> None:
        if self._to.key is None:
            return
        access = self._survey.access
        writes, conditions = access.writes(self._to.keyvalue, self._to.key, secrets.token_bytes)
        if not writes:
            return
        if not self._fence.apply(writes, conditions):
            raise Busy("the target's users were changed during the migration", hint="Run it again.")
        self.report.written += len(writes)
