"""The check of staging areas: one branch or operation has each, or it is about to be removed."""

from __future__ import annotations

from collections.abc import Iterator

from anabranch.keyvalue.contract import Expect, Write
from anabranch.pipelines.jobs.progress import Progress
from anabranch.pipelines.verification.findings import Finding, Mend
from anabranch.pipelines.verification.inspected import Inspected, is_staging_area
from anabranch.versioning.operations.record import operations_partition
from anabranch.versioning.records import keys, references
from anabranch.versioning.staging.cleanup import discard

__all__ = ["CHECK", "check_staging_areas"]

CHECK = "staging"


def check_staging_areas(inspected: Inspected, progress: Progress) -> Iterator[Finding]:
    """Yields areas that nothing keeps, that two keep, and that are kept but will be removed."""
    progress.begin("checking staging areas", 0)
    owners: dict[str, str] = {}
    for token, repository, owner in inspected.areas():
        name = f"{owner} of {repository.id}"
        if token in owners:
            yield Finding(
                *(CHECK, "area_shared", token),
                f"both {owners[token]} and {name} have this staging area",
            )
        owners[token] = name
        progress.advance(1)
    condemned = {
        key.decode("utf-8", "replace"): raw for key, raw in inspected.store.scan(keys.CLEANUP)
    }
    for token in owners.keys() & condemned.keys():
        yield Finding(
            *(CHECK, "area_condemned", token),
            f"the staging area of {owners[token]} is about to be removed",
            Mend(
                "take it from the list of areas to remove",
                [Write(keys.CLEANUP, token.encode(), None)],
                [Expect(keys.CLEANUP, token.encode(), condemned[token])],
            ),
        )
    hidden = _hidden_areas(inspected)
    for partition, rows in inspected.rows.items():
        known = partition in owners or partition in condemned or partition in hidden
        if known or not is_staging_area(partition) or _is_being_deleted(inspected, partition):
            continue
        yield Finding(
            *(CHECK, "area_orphaned", partition),
            f"no branch and no operation has this staging area of {rows} changes",
            Mend(
                "put it on the list of areas that servers remove",
                discard([partition], inspected.now),
                [Expect(keys.CLEANUP, partition.encode("utf-8", "surrogateescape"), None)],
            ),
        )


def _hidden_areas(inspected: Inspected) -> set[str]:
    """Returns the areas of branches and operations whose repository is being copied here, or
    restored: its own record is written last.
    """
    known = {repository.partition for repository in inspected.repositories}
    areas: set[str] = set()
    for partition in inspected.rows:
        repository = partition.removeprefix(operations_partition(""))
        if repository != partition and repository not in known:
            for operation in inspected.operations_in(partition):
                areas.update(operation.discarded)
        if partition in known or ":" in partition or "/" in partition:
            continue
        for _, raw in inspected.store.scan(partition, *keys.all_branches()):
            try:
                areas.update(references.branch_from(raw).tokens)
            except Exception:  # noqa: BLE001  other partitions may have such keys, too
                break
    return areas


def _is_being_deleted(inspected: Inspected, token: str) -> bool:
    return any(token.startswith(f"{each.id}-") for each in inspected.in_deletion)
