"""Verification of a backup by the checks of installations, on the target alone."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from pathlib import Path

import msgspec

from anabranch.errors import Corrupt, Gone
from anabranch.files.work_folders import WorkFolder
from anabranch.pipelines.backups.area_files import missing_files
from anabranch.pipelines.backups.manifest import Manifest
from anabranch.pipelines.backups.opened_backup import OpenedBackup, open_backup
from anabranch.pipelines.backups.target import BackupTarget
from anabranch.pipelines.jobs.progress import NO_PROGRESS, Progress
from anabranch.pipelines.verification.findings import Finding, Findings
from anabranch.pipelines.verification.report import VerificationReport, reported
from anabranch.pipelines.verification.stores.entries import EntryReader
from anabranch.pipelines.verification.stores.live_needs import FixedNeeds
from anabranch.pipelines.verification.stores.object_sources import ObjectSources, RepositoryTrees
from anabranch.pipelines.verification.stores.objects import ObjectCheck
from anabranch.pipelines.verification.verification import record_checks

__all__ = ["verify_backup"]


def verify_backup(
    target: BackupTarget,
    manifest: Manifest,
    *,
    sample: int | None,
    progress: Progress = NO_PROGRESS,
) -> VerificationReport:
    """Returns what is wrong with a backup: its files, its records, its tables, and, if it has any,
    its objects, of which `sample` are read, None for all. If a table is missing or damaged, the
    next backup copies what the target lacks of all tables.
    """
    findings = Findings()
    report = VerificationReport([], [], {})
    try:
        with open_backup(target, manifest, progress) as opened:
            for _, check in record_checks(check_all=False):
                findings.add(check(opened.inspected, progress))
            with WorkFolder("backup") as folder:
                check_objects = ObjectCheck(
                    _mirrored(target, opened, objects=manifest.objects),
                    target.blocks,
                    FixedNeeds(),
                    Path(folder),
                    sample=sample,
                    seed=secrets.randbits(63),
                    progress=progress,
                    reader=EntryReader(target.blocks, mirror=target.mirror),
                    looks_elsewhere=False,
                )
                findings.add(check_objects.findings())
                if manifest.objects:
                    findings.add(_missing_files(target, opened))
                report = msgspec.structs.replace(
                    report,
                    repositories=len(opened.sources.repositories),
                    tables=check_objects.tables,
                    entries=check_objects.entries,
                    objects=check_objects.compared,
                    objects_read=check_objects.read,
                    bytes_read=check_objects.bytes_read,
                )
    except (Gone, Corrupt) as error:
        findings.add([Finding("backup", "unreadable", manifest.id, error.message)])
    if findings.counts.keys() & {"table_missing", "table_damaged"}:
        target.blocks.put(target.pruning_mark, [b""])
    return msgspec.structs.replace(report, findings=reported(findings), counts=findings.counts)


def _missing_files(target: BackupTarget, opened: OpenedBackup) -> Iterator[Finding]:
    """Yields the files of tables of the Iceberg catalog that the target does not have."""
    for repository, _, _ in opened.sources.repositories:
        for file in missing_files(target, repository, opened.area_files(repository)):
            yield Finding(
                *("objects", "object_missing", f"{repository.id} {file.address}"),
                f"the file of a table of the Iceberg catalog is missing, or has not its "
                f"{file.size:,} bytes",
            )


def _mirrored(target: BackupTarget, opened: OpenedBackup, *, objects: bool) -> ObjectSources:
    """Returns the sources of a backup as they are in the target."""
    sources = opened.sources
    return ObjectSources(
        [
            RepositoryTrees(
                target.repository(each.repository), each.trees, each.required if objects else set()
            )
            for each in sources.repositories
        ],
        [
            area._replace(repository=target.repository(area.repository))
            for area in sources.areas
            if objects
        ],
        [target.mirrored(root) for root in sources.roots],
    )
