"""Last step of an import: merges the imported tree into a branch, by one commit."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import msgspec

from anabranch import _kernel as kernel
from anabranch.actions.change import NO_HOOKS, Subject
from anabranch.actions.change import Change as ChangeWithHooks
from anabranch.actions.changes import Changes
from anabranch.errors import DirtyBranch
from anabranch.model.commits.commit import Commit, CommitFields
from anabranch.model.imports import ImportSource
from anabranch.model.repositories.repository import Repository
from anabranch.pipelines.imports.entries import parse_destination
from anabranch.pipelines.imports.replace_prefixes import Change, replacement_changes
from anabranch.versioning.commits.branch_change import BranchChange, Made, UntrustedTree
from anabranch.versioning.core import Core
from anabranch.versioning.references.branches import StoredBranch
from anabranch.versioning.references.references import at_branch
from anabranch.versioning.staging.extra_writes import ExtraWritesFor
from anabranch.versioning.trees.tree_writers import NewTables

__all__ = ["DEFAULT_MESSAGE", "ImportCommitter", "ImportRequest", "require_clean"]

_CHANGES_PER_CHECK = 1_024
DEFAULT_MESSAGE = "Import objects"
_STRATEGY = {".lakefs.merge.strategy": "source-wins"}
_LAST_IMPORT = ".lakefs.last.import.timestamp"


class ImportRequest(msgspec.Struct, frozen=True, kw_only=True):
    """The sources and the branch of an import, and its commit; `date` is in seconds since 1970,
    None for the present time.
    """

    branch: str
    sources: Sequence[ImportSource]
    committer: str
    message: str = ""
    metadata: Mapping[str, str] = {}
    date: int | None = None


def require_clean(core: Core, repository: Repository, branch: str) -> None:
    """Raises DirtyBranch if a branch has uncommitted changes, NotFound if it does not exist. The
    commit checks this again; a check before a long import makes it fail early.
    """
    current = core.branches.read(repository, branch).branch
    if core.differ.is_dirty(repository, current.commit_id, current.tokens):
        raise DirtyBranch("uncommitted changes (dirty branch)")


def _cancel_nothing() -> None:
    """The check of an import that runs in the foreground."""


class ImportCommitter:
    """Commits the tree `imported`, whose new tables are in `folder`, to a branch, in place of all
    objects under the destinations of the request's prefixes. `check_cancelled` is called regularly
    and raises to stop. If `adopted`, the tables are already in the repository. `since` is the
    number of sweeps that had ended before the first source was read; `changes` runs hooks.
    """

    def __init__(
        self,
        core: Core,
        repository: Repository,
        request: ImportRequest,
        folder: str,
        imported: NewTables,
        check_cancelled: Callable[[], None] = _cancel_nothing,
        *,
        adopted: bool = False,
        since: int | None = None,
        changes: Changes | None = None,
    ) -> None:
        self._core = core
        self._changes = changes
        self._since = since
        self._repository = repository
        self._request = request
        self._folder = folder
        self._imported = imported
        self._check_cancelled = check_cancelled
        self._adopted = imported.metarange_id if adopted else ""
        self._merged: dict[str, str] = {}

    def commit(self, extra_writes: Sequence[ExtraWritesFor[Commit]] = ()) -> Commit:
        """Moves the branch to a new commit, atomically with the extra writes, and returns the
        commit. Raises DirtyBranch, NotFound, ProtectedBranch, Conflict if garbage collection may
        have removed objects, and PreconditionFailed if a hook fails; then the branch is unchanged.
        """
        core, request, repository = self._core, self._request, self._repository
        admit = core.protection.admission(repository, request.branch)
        # merge before the branch is locked; the result is reused unless the branch moves meanwhile
        stored = core.branches.read(repository, request.branch)
        self._merged_tree(core.commits.get(repository, stored.branch.commit_id).metarange_id)
        change = self._begin(stored)
        change.prepare()
        move = BranchChange(
            repository=repository,
            branch=request.branch,
            fields=CommitFields(
                request.committer,
                request.message or DEFAULT_MESSAGE,
                {**request.metadata, **_STRATEGY},
                request.date,
            ),
            extra_writes=(*extra_writes, admit, change),
            examination=change.examination,
        )
        commit = core.committer.move_branch(move, self)
        change.end()
        return commit

    def make(
        self, change: BranchChange[Commit], stored: StoredBranch, head: Commit
    ) -> Made[Commit]:
        """Returns the commit of the imported objects on top of a head: this is the plan that the
        committer carries out. Raises DirtyBranch.
        """
        core = self._core
        core.committer.require_clean(change.repository, stored.branch)
        tree = self._merged_tree(head.metarange_id)
        commit = core.commits.make_from(change.fields, tree, [head])
        return Made(commit=commit, result=commit, untrusted=UntrustedTree(self._since))

    def _begin(self, stored: StoredBranch) -> ChangeWithHooks:
        """Returns the hooks of the commit; the branch's own files declare them."""
        if self._changes is None:
            return NO_HOOKS
        request = self._request
        subject = Subject(
            branch=request.branch,
            source_ref=request.branch,
            commit_message=request.message or DEFAULT_MESSAGE,
            committer=request.committer,
            commit_metadata=request.metadata,
        )
        return self._changes.begin(
            "commit", self._repository, subject, at_branch(stored), with_tree=True
        )

    def record_timestamp(self, now: float) -> None:
        """Records the time of the import in the repository's metadata, under lakeFS's key; `now`
        is in seconds since 1970.
        """
        self._core.repositories.change_metadata(self._repository, put={_LAST_IMPORT: f"{int(now)}"})

    def _merged_tree(self, head: str) -> str:
        """Returns the id of the head's tree with the imported objects merged in."""
        if head not in self._merged:
            self._merged[head] = self._write_merged_tree(head)
        return self._merged[head]

    def _write_merged_tree(self, head: str) -> str:
        trees, repository = self._core.trees, self._repository
        if head == kernel.EMPTY_TREE_ID:
            self._adopted = self._adopted or trees.adopt(repository, self._folder, self._imported)
            return self._adopted
        prefixes = [
            parse_destination(source)
            for source in self._request.sources
            if source.type == "common_prefix"
        ]
        if self._adopted:  # by the caller, or before the branch moved
            imported = trees.open(repository, self._adopted)
        else:
            imported = trees.open_in(self._folder, self._imported.metarange_id)
        tree = trees.open(repository, head)
        replacing = _ReplacePrefixes(tree, imported, prefixes, self._check_cancelled)
        return trees.write(repository, replacing).metarange_id


class _ReplacePrefixes(msgspec.Struct, frozen=True):
    """Writes a tree with imported objects in place of all those under prefixes. `check_cancelled`
    is called regularly and raises to stop.
    """

    tree: kernel.Tree
    imported: kernel.Tree
    prefixes: Sequence[bytes]
    check_cancelled: Callable[[], None]

    def write(self, folder: str, *, unsynced: bool = False) -> kernel.Written:  # noqa: ARG002
        """Writes the tree; all tables are synced. Raises what `check_cancelled` raises."""
        changes = replacement_changes(self.tree, self.imported, self.prefixes)
        return self.tree.apply(self._cancellable(changes), folder)

    def _cancellable(self, changes: Iterable[Change]) -> Iterator[Change]:
        for number, change in enumerate(changes):
            if not number % _CHANGES_PER_CHECK:
                self.check_cancelled()
            yield change
