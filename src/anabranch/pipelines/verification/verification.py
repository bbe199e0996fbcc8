"""A verification: all checks of an installation, one after another, beside running servers.

What references say is read in one snapshot. If that has findings, a second snapshot is read, and
what both have is reported: whatever has several steps, such as the removal of a staging area, has
gone on by then. What the stores lack is looked up again and compared with the references of now
before it is reported. So a change meanwhile is no finding.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import NamedTuple

import msgspec
from google.protobuf.message import DecodeError

from anabranch import _kernel as kernel
from anabranch.blocks.cache.table_cache import TableCache
from anabranch.blocks.contract import BlockStore
from anabranch.errors import AnabranchError, Corrupt, Invalid
from anabranch.files.work_folders import WorkFolder
from anabranch.keyvalue.contract import StoreSnapshot
from anabranch.pipelines.jobs.progress import NO_PROGRESS, Progress
from anabranch.pipelines.verification.findings import Finding, Findings
from anabranch.pipelines.verification.inspected import Inspected
from anabranch.pipelines.verification.records.collection_records import check_collection_records
from anabranch.pipelines.verification.records.commits import check_commits
from anabranch.pipelines.verification.records.history_index import check_history_index
from anabranch.pipelines.verification.records.operation_log import check_operations
from anabranch.pipelines.verification.records.reference_targets import check_references
from anabranch.pipelines.verification.records.staging_areas import check_staging_areas
from anabranch.pipelines.verification.records.unreadable_records import check_records
from anabranch.pipelines.verification.records.uploads import check_lost_uploads, check_uploads
from anabranch.pipelines.verification.report import CheckReport, VerificationReport, reported
from anabranch.pipelines.verification.stores.area_files import check_area_files
from anabranch.pipelines.verification.stores.installation_files import (
    check_audit_log,
    check_database_file,
    check_journals,
)
from anabranch.pipelines.verification.stores.live_needs import LiveNeeds
from anabranch.pipelines.verification.stores.object_sources import ObjectSources, read_sources
from anabranch.pipelines.verification.stores.objects import ObjectCheck
from anabranch.pipelines.verification.stores.store_looks import StoreLooks
from anabranch.pipelines.verification.stores.table_records import RecordSources, record_sources
from anabranch.versioning.core import Core

__all__ = ["InstallationFiles", "Verification", "VerifiedStores", "record_checks"]

SAMPLED_OBJECTS = 1000
"""How many objects are read by default."""

_DAMAGE = (Corrupt, Invalid, DecodeError, LookupError, ValueError, kernel.KernelError)
"""What reading a damaged record raises where no check expects it; msgspec's are ValueErrors."""

Check = Callable[[Inspected, Progress], Iterator[Finding]]


class InstallationFiles(NamedTuple):
    """Files that an installation may have beside its stores: SQLite's, the folder of a local block
    store, the audit log.
    """

    database: Path | None = None
    blocks: Path | None = None
    audit_log: Path | None = None


class VerifiedStores(NamedTuple):
    """The stores of an installation. `core` reads them as they are now; `snapshot` opens the
    references as they are at one moment.
    """

    core: Core
    blocks: BlockStore
    tables: TableCache
    snapshot: Callable[[], AbstractContextManager[StoreSnapshot]]
    undo_days: int


def record_checks(*, check_all: bool) -> list[tuple[str, Check]]:
    """Returns the checks of records, with their names; `check_all` compares all of the history
    index.
    """
    return [
        ("records", check_records),
        ("references", check_references),
        ("commits", check_commits),
        ("staging", check_staging_areas),
        ("uploads", check_uploads),
        ("operations", check_operations),
        ("garbage collection", check_collection_records),
        ("history index", partial(check_history_index, check_all=check_all)),
    ]


class _Counted:
    """Passes progress on, and counts the items of a check."""

    def __init__(self, target: Progress) -> None:
        self._target = target
        self.items = 0

    def begin(self, step: str, total: int) -> None:
        self._target.begin(step, total)

    def advance(self, amount: int) -> None:
        self.items += amount
        self._target.advance(amount)


class Verification:
    """Verifies an installation. `sample` is how many objects are read and compared with their
    checksums, None for all; then all of the history index is compared, too. `looks` looks at tables
    and objects, by default in this process.
    """

    def __init__(
        self,
        stores: VerifiedStores,
        *,
        sample: int | None = SAMPLED_OBJECTS,
        progress: Progress = NO_PROGRESS,
        seed: int | None = None,
        looks: StoreLooks | None = None,
    ) -> None:
        self._stores = stores
        self._looks = looks
        self._sample = sample
        self._progress = progress
        self._seed = secrets.randbits(63) if seed is None else seed
        self._checks: list[CheckReport] = []
        self.findings = Findings()

    def run(self, files: InstallationFiles = InstallationFiles()) -> VerificationReport:  # noqa: B008  a tuple
        """Runs all checks and returns what they have found. Raises the errors of stores that cannot
        be read.
        """
        if files.database is not None:
            self._run("database", lambda _: check_database_file(files.database or Path()))
        if files.blocks is not None:
            self._run("journals", lambda _: check_journals(files.blocks or Path()))
        if files.audit_log is not None:
            self._run("audit log", lambda _: check_audit_log(files.audit_log or Path()))
        try:
            self._verify_records()
            return self._verify_stores()
        except _DAMAGE as error:  # the database is so damaged that it cannot be read
            self.findings.add([_unreadable("database", error)])
            return self._report()

    def _verify_stores(self) -> VerificationReport:
        with WorkFolder("fsck") as folder:
            with self._stores.snapshot() as snapshot:
                inspected = self._inspect(snapshot)
                self._run("uploads", partial(self._lost_uploads, inspected))
                sources = read_sources(inspected, Path(folder, "areas"), self._progress)
                required = {each.partition: trees for each, _, trees in sources.repositories}
                records = record_sources(inspected, required)
            self._run("files of tables", partial(self._area_files, records))
            return self._verify_objects(sources, Path(folder))

    def _area_files(self, records: list[RecordSources], progress: Progress) -> Iterator[Finding]:
        """Yields what is missing at two moments: engines remove what nothing needs any more."""
        core, blocks = self._stores.core, self._stores.blocks
        found = list(check_area_files(core, blocks, LiveNeeds(core), records, progress))
        if not found:
            return
        with self._stores.snapshot() as snapshot:
            records = record_sources(self._inspect(snapshot))
        now = check_area_files(core, blocks, LiveNeeds(core), records, progress)
        again = {(each.identity, each.message) for each in now}
        yield from (each for each in found if (each.identity, each.message) in again)

    def _verify_objects(self, sources: ObjectSources, folder: Path) -> VerificationReport:
        counted = _Counted(self._progress)
        check = ObjectCheck(
            *(sources, self._stores.blocks, LiveNeeds(self._stores.core), folder),
            sample=self._sample,
            seed=self._seed,
            progress=counted,
            looks=self._looks,
        )
        begun = time.monotonic()
        self.findings.add(_unreadable_reported("objects", check.findings()))
        self._checks.append(CheckReport("objects", counted.items, time.monotonic() - begun))
        return msgspec.structs.replace(
            self._report(),
            repositories=len(sources.repositories),
            tables=check.tables,
            entries=check.entries,
            objects=check.compared,
            objects_read=check.read,
            bytes_read=check.bytes_read,
        )

    def _report(self) -> VerificationReport:
        return VerificationReport(self._checks, reported(self.findings), self.findings.counts)

    def _verify_records(self) -> None:
        first = self._look_at_records(self._checks)
        if not first:
            return
        again = {each.identity for each in self._look_at_records([])}
        self.findings.add(each for each in first if each.identity in again)

    def _look_at_records(self, reports: list[CheckReport]) -> list[Finding]:
        found: list[Finding] = []
        with self._stores.snapshot() as snapshot:
            inspected = self._inspect(snapshot)
            for name, check in record_checks(check_all=self._sample is None):
                counted = _Counted(self._progress)
                begun = time.monotonic()
                found += _unreadable_reported(name, check(inspected, counted))
                reports.append(CheckReport(name, counted.items, time.monotonic() - begun))
        return found

    def _lost_uploads(self, inspected: Inspected, progress: Progress) -> Iterator[Finding]:
        return check_lost_uploads(
            inspected, self._stores.blocks, self._stores.core.keyvalue, progress
        )

    def _inspect(self, snapshot: StoreSnapshot) -> Inspected:
        stores = self._stores
        return Inspected(snapshot, stores.tables, stores.core.clock, stores.undo_days)

    def _run(self, name: str, check: Callable[[Progress], Iterator[Finding]]) -> None:
        counted = _Counted(self._progress)
        counted.begin(f"checking the {name}", 0)
        begun = time.monotonic()
        self.findings.add(_unreadable_reported(name, check(counted)))
        self._checks.append(CheckReport(name, counted.items, time.monotonic() - begun))


def _unreadable_reported(name: str, findings: Iterator[Finding]) -> Iterator[Finding]:
    """Yields the findings of a check, and one more if it ends because of damage."""
    try:
        yield from findings
    except _DAMAGE as error:
        yield _unreadable(name, error)


def _unreadable(name: str, error: Exception) -> Finding:
    where = error.path if isinstance(error, Corrupt) else ""
    message = error.message if isinstance(error, AnabranchError) else repr(error)
    return Finding(name, "unreadable", where or name, f"the check has ended: {message}")
