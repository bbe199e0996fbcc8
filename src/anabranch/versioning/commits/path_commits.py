"""Commits of the entries at some paths, whatever else is staged on the branch.

The change is computed from the entries at the branch's head, again for each head that an attempt
finds, and nothing else gets into the commit: what others have staged remains staged. A path that
has a staged change of its own is refused, since that would hide what is committed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from anabranch import _kernel as kernel
from anabranch.errors import Conflict, Invalid
from anabranch.model.commits.commit import Commit
from anabranch.model.names import check_path, encode_path
from anabranch.model.objects.entry import Entry, physical_address
from anabranch.model.repositories.repository import Repository
from anabranch.versioning.commits.branch_change import BranchChange, Made
from anabranch.versioning.commits.committer import Committer
from anabranch.versioning.history.commit_store import Commits
from anabranch.versioning.objects.changes import EntriesChange
from anabranch.versioning.objects.objects import Objects
from anabranch.versioning.records.entries import Value, entry_from, entry_value
from anabranch.versioning.references.branches import StoredBranch
from anabranch.versioning.staging.area import Staging
from anabranch.versioning.trees.trees import Trees

__all__ = ["PathCommits"]


class PathCommits:
    """Commits changes of paths."""

    def __init__(
        self,
        commits: Commits,
        staging: Staging,
        objects: Objects,
        trees: Trees,
        committer: Committer,
    ) -> None:
        self._commits = commits
        self._staging = staging
        self._objects = objects
        self._trees = trees
        self._committer = committer

    def commit(
        self, change: BranchChange[Commit], paths: Sequence[str], entries: EntriesChange
    ) -> Commit:
        """Commits what `entries` returns for the entries at the paths, and returns the commit.

        Raises what `entries` raises, Conflict (kind staged_change) for a path with a staged change,
        and Invalid if nothing changes. The branch is unchanged then.
        """
        for path in paths:
            check_path(path)
        change = msgspec.structs.replace(change, keeps_staged=True, known=None)
        plan = _Plan(self._commits, self._staging, self._objects, self._trees, paths, entries)
        return self._committer.move_branch(change, plan)


class _Plan(msgspec.Struct, frozen=True):
    """Plan of a commit of paths."""

    commits: Commits
    staging: Staging
    objects: Objects
    trees: Trees
    paths: Sequence[str]
    entries: EntriesChange

    def make(
        self, change: BranchChange[Commit], stored: StoredBranch, head: Commit
    ) -> Made[Commit]:
        """Returns the commit on top of a head. Raises as `PathCommits.commit` does."""
        repository, branch = change.repository, stored.branch
        keys = [encode_path(path) for path in self.paths]
        unstaged = [self.staging.unchanged(branch.staging_token, key) for key in keys]
        for path, key in zip(self.paths, keys, strict=True):
            if self.staging.get(branch.tokens, key) is not None:
                raise Conflict(
                    f"{path!r} has a change that is not committed",
                    kind="staged_change",
                    hint="Commit or reset the branch first.",
                )
        tree = self.trees.open(repository, head.metarange_id)
        values = [self.trees.read(tree.get, key) for key in keys]
        current = {
            path: None if value is None else entry_from(value)
            for path, value in zip(self.paths, values, strict=True)
        }
        changed = self.entries.apply(current)
        written = self.trees.write(repository, _ApplyEntries(tree, changed))
        if written.metarange_id == head.metarange_id:
            raise Invalid("nothing changes", kind="no_changes")
        metarange_id = written.metarange_id or self.trees.write_empty(repository)
        commit = self.commits.make_from(change.fields, metarange_id, [head])
        return Made(
            commit=commit,
            result=commit,
            changed_paths=written.changed_paths or b"",
            new_content=_new_content(repository, current, changed),
            conditions=unstaged,
        )


def _new_content(
    repository: Repository,
    current: Mapping[str, Entry | None],
    changed: Mapping[str, Entry | None],
) -> list[str]:
    """Returns the addresses of the changed entries which were not at their paths before."""
    return [
        physical_address(repository.storage_namespace, entry.address, entry.address_type)
        for path, entry in changed.items()
        if entry is not None and entry not in current.values()
    ]


class _ApplyEntries(msgspec.Struct, frozen=True):
    """Writes a tree with other entries at some paths."""

    tree: kernel.Tree
    entries: Mapping[str, Entry | None]

    def write(self, folder: str, *, unsynced: bool = False) -> kernel.Written:  # noqa: ARG002
        """Writes the tree; all tables are synced."""
        changes: list[tuple[bytes, Value | None]] = sorted(
            (encode_path(path), None if entry is None else entry_value(entry))
            for path, entry in self.entries.items()
        )
        return self.tree.apply(changes, folder)
