"""The check of what points to something else: branches, tags, workspaces and indexes."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
from google.protobuf.message import DecodeError

from anabranch.errors import Corrupt
from anabranch.keyvalue.contract import Expect, Write
from anabranch.model.repositories.repository import Repository
from anabranch.pipelines.jobs.progress import Progress
from anabranch.pipelines.verification.findings import Finding, Mend
from anabranch.pipelines.verification.inspected import Inspected
from anabranch.records import lakefs_pb2 as records
from anabranch.versioning.records import keys
from anabranch.versioning.records.expiring_branches import DueBranch, due_writes
from anabranch.versioning.records.workspaces import (
    removal_writes,
    workspace_from,
    workspace_key_from,
)

__all__ = ["CHECK", "check_references"]

CHECK = "references"
_DUE = msgspec.json.Decoder(DueBranch)


def check_references(inspected: Inspected, progress: Progress) -> Iterator[Finding]:
    """Yields references to what does not exist, and indexes that differ from what they index."""
    progress.begin("checking references", 0)
    due = set(_due_branches(inspected))
    for repository in inspected.repositories:
        names = set()
        for _, branch in inspected.branches(repository):
            names.add(branch.id)
            subject = f"{repository.id} branch {branch.id}"
            yield from _require_commit(inspected, repository, branch.commit_id, subject)
            if branch.expires_at and (repository.partition, branch.id) not in due:
                yield Finding(
                    *(CHECK, "expiry_missing", subject),
                    "the branch has a time at which it ends, but nothing will delete it then",
                    Mend(
                        "add the branch to the index of those that end",
                        due_writes(repository, branch.id, 0, branch.expires_at),
                    ),
                )
            progress.advance(1)
        for _, tag in inspected.tags(repository):
            subject = f"{repository.id} tag {tag.id}"
            yield from _require_commit(inspected, repository, tag.commit_id, subject)
            progress.advance(1)
        yield from _check_workspaces(inspected, repository, names)
    yield from _check_workspace_keys(inspected)
    yield from _check_pull_index(inspected)


def _require_commit(
    inspected: Inspected, repository: Repository, commit_id: str, subject: str
) -> Iterator[Finding]:
    if not inspected.has_commit(repository, commit_id):
        yield Finding(
            CHECK, "commit_missing", subject, f"the record of its commit {commit_id} is missing"
        )


def _due_branches(inspected: Inspected) -> Iterator[tuple[str, str]]:
    for _, raw in inspected.store.scan(keys.EXPIRING_BRANCHES):
        try:
            due = _DUE.decode(raw)
        except msgspec.MsgspecError:
            continue
        yield due.partition, due.branch


def _check_workspaces(
    inspected: Inspected, repository: Repository, branches: set[str]
) -> Iterator[Finding]:
    for key, raw in inspected.store.scan(repository.partition, *keys.all_workspaces()):
        try:
            workspace = workspace_from(raw)
        except Corrupt:
            continue
        if workspace.branch not in branches:
            yield Finding(
                *(CHECK, "workspace_without_branch", f"{repository.id} {workspace.branch}"),
                "the branch of this workspace does not exist",
                Mend(
                    "remove the workspace and its access key",
                    removal_writes(repository, workspace.branch, raw),
                    [
                        Expect(repository.partition, key, raw),
                        Expect(repository.partition, keys.branch(workspace.branch), None),
                    ],
                ),
            )


def _check_workspace_keys(inspected: Inspected) -> Iterator[Finding]:
    deleted = {repository.partition for repository in (*inspected.in_deletion, *inspected.deleted)}
    for key, raw in inspected.store.scan(keys.WORKSPACE_KEYS):
        try:
            place = workspace_key_from(raw)
        except Corrupt:
            continue
        row = keys.workspace(place.branch)
        gone = inspected.store.get(place.partition, row) is None
        if gone and place.partition not in deleted and _lives(inspected, place.partition):
            yield Finding(
                *(CHECK, "workspace_key_stray", key.decode("utf-8", "replace")),
                f"the workspace of this access key, {place.branch} of {place.repository}, does "
                "not exist",
                Mend(
                    "remove the record of the access key",
                    [Write(keys.WORKSPACE_KEYS, key, None)],
                    [
                        Expect(keys.WORKSPACE_KEYS, key, raw),
                        Expect(place.partition, row, None),
                    ],
                ),
            )


def _check_pull_index(inspected: Inspected) -> Iterator[Finding]:
    for repository in inspected.repositories:
        stem = keys.pull_by_branches(repository.partition)
        for key, raw in inspected.store.scan(keys.PULLS_BY_BRANCHES, stem, stem[:-1] + b"0"):
            try:
                pull = records.SecondaryIndex.FromString(raw).primary_key.decode()
            except (DecodeError, UnicodeDecodeError):
                continue
            row = keys.pull(pull)
            if inspected.store.get(repository.partition, row) is None:
                yield Finding(
                    *(CHECK, "pull_request_missing", f"{repository.id} {pull}"),
                    "an index names this pull request, which does not exist",
                    Mend(
                        "remove the row of the index",
                        [Write(keys.PULLS_BY_BRANCHES, key, None)],
                        [
                            Expect(keys.PULLS_BY_BRANCHES, key, raw),
                            Expect(repository.partition, row, None),
                        ],
                    ),
                )


def _lives(inspected: Inspected, partition: str) -> bool:
    return any(repository.partition == partition for repository in inspected.repositories)
