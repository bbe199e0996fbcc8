"""Use cases of two references: diff, merge, its dry run and conflicts, rows of both; merge base."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from anabranch.access.actors.readable_paths import ReadablePaths
from anabranch.actions.change import Subject
from anabranch.actions.changes import Changes
from anabranch.blocks.contract import BlockStore
from anabranch.catalog.commits.merge_rules import RequestedRules
from anabranch.catalog.error_messages import reference_errors, refused_updates
from anabranch.catalog.read_permissions.readable_changes import readable_changes
from anabranch.catalog.read_permissions.readable_conflicts import readable_conflicts
from anabranch.catalog.tables.table_differences import TableDiffer
from anabranch.errors import Invalid, NotFound
from anabranch.model.commits.change import Change
from anabranch.model.commits.commit import Commit, CommitFields
from anabranch.model.commits.conflict import MergePreview, OpenConflict, Resolution
from anabranch.model.commits.row_conflict import RowConflictPage
from anabranch.model.commits.row_difference import RowDifferencePage
from anabranch.model.names import check_path
from anabranch.model.page import Page
from anabranch.model.repositories.repository import Repository
from anabranch.model.tables.table_record import is_table_record
from anabranch.versioning.commits.branch_change import BranchChange
from anabranch.versioning.core import Core
from anabranch.versioning.merging.content_rights import ContentRights
from anabranch.versioning.merging.merge import Merge
from anabranch.versioning.merging.row_listing import RowListing
from anabranch.versioning.objects.objects import no_object
from anabranch.versioning.pulls.merged_pulls import RecordMergedPulls
from anabranch.versioning.records import keys
from anabranch.versioning.references.references import STAGING, Resolved
from anabranch.versioning.repositories.repositories import check_writable
from anabranch.versioning.staging.extra_writes import ExtraWritesFor
from anabranch.versioning.strategies.table_processes.messages import RowMatching

__all__ = ["Refs"]


class Refs:
    """Use cases of two references."""

    def __init__(
        self, core: Core, blocks: BlockStore, rules: RequestedRules, changes: Changes
    ) -> None:
        self._core = core
        self._tables = TableDiffer(core, blocks)
        self._changes = changes
        self._rules = rules

    def diff(
        self,
        repository: str,
        left: str,
        right: str,
        *,
        two_dot: bool = False,
        prefix: str = "",
        after: str = "",
        delimiter: str = "",
        amount: int,
        readable: ReadablePaths | None = None,
    ) -> Page[Change]:
        """Returns a page of the changes that merging `right` into `left` would make; with
        `two_dot`, of the differences of both trees. `right` may be `branch$`, which includes the
        staged changes of the branch. The page holds `readable` objects, all if that is None.
        """
        core = self._core
        stored_repository = core.repositories.get(repository)
        if two_dot:
            left_commit = core.references.commit(stored_repository, left)
            resolved = self._right_side(stored_repository, right)
        else:
            with reference_errors(f"get commit by ref {right}"):
                resolved = self._right_side(stored_repository, right)
            with reference_errors(f"get commit by branch {left}"):
                left_commit = core.references.commit(stored_repository, left)
        page = {"prefix": prefix, "after": after, "delimiter": delimiter}
        with (
            core.differ.tree_at(stored_repository, Resolved(left_commit.id)) as ours,
            core.differ.tree_at(stored_repository, resolved) as theirs,
        ):
            if two_dot:
                read = partial(core.differ.two_dot, ours, theirs)
                return readable_changes(read, readable, **page, amount=amount)
            right_commit = core.commits.get(stored_repository, resolved.commit_id)
            base = core.merger.base(stored_repository, left_commit, right_commit)
            with core.differ.tree_at(stored_repository, Resolved(base.id)) as common:
                read = partial(core.differ.three_dot, ours, theirs, common)
                return readable_changes(read, readable, **page, amount=amount)

    def diff_rows(
        self,
        repository: str,
        left: str,
        right: str,
        path: str,
        *,
        two_dot: bool = False,
        key: Sequence[str] = (),
        whole_rows: bool = False,
        file_format: str = "",
        after: str = "",
        amount: int,
        readable: ReadablePaths | None = None,
        records: ReadablePaths | None = None,
        of_catalog: bool = True,
    ) -> RowDifferencePage:
        """Returns a page of the rows of a table, in one object or in a folder (Delta Lake or
        Iceberg; all its files must be `readable`), or of a table of the catalog, by the path of its
        record, that `right` changed since its merge
        base with `left`; with `two_dot`, of those that differ between both. `right` may be
        `branch$`, which includes the staged changes of the branch. The page says how rows are
        matched: by `key`, by columns that were found, or with `whole_rows` by all columns. A table
        of the catalog needs its record, and the path that its files were made for, among `records`
        (None for all). Unless
        `of_catalog`, the files of the catalog's tables, which are on no branch, are not there.

        Raises NotFound if neither has the object or table, Invalid for what is no table, Denied.
        """
        core = self._core
        check_path(path)
        matching = RowMatching(key=tuple(key), whole_rows=whole_rows, after=after, amount=amount)
        stored_repository = core.repositories.get(repository)
        with reference_errors(f"get commit by ref {right}"):
            resolved = self._right_side(stored_repository, right)
        with reference_errors(f"get commit by branch {left}"):
            before = core.references.commit(stored_repository, left)
        if not two_dot:
            right_commit = core.commits.get(stored_repository, resolved.commit_id)
            before = core.merger.base(stored_repository, before, right_commit)
        old = core.objects.entry_at(stored_repository, Resolved(before.id), path)
        new = core.objects.entry_at(stored_repository, resolved, path)
        if (old is None and new is None) or is_table_record(path):
            found = self._tables.compare(
                *(stored_repository, path, Resolved(before.id), resolved),
                readable=readable,
                records=records,
                matching=matching,
                of_catalog=of_catalog,
            )
            if found is None:
                raise no_object(path)
            return found
        return core.row_differ.compare(
            *(stored_repository, path, old, new),
            file_format=file_format,
            matching=matching,
        )

    def _right_side(self, repository: Repository, right: str) -> Resolved:
        """Returns the resolved right side; it has staged changes only if it ends in `$`."""
        if right.endswith(STAGING):
            return self._core.references.resolve(repository, right)
        return Resolved(self._core.references.commit(repository, right).id)

    def merge(
        self,
        repository: str,
        source: str,
        destination: str,
        *,
        committer: str | None = None,
        message: str = "",
        metadata: Mapping[str, str] | None = None,
        strategy: str = "",
        resolutions: Sequence[Resolution] = (),
        rights: ContentRights | None = None,
        squash: bool = False,
        allow_empty: bool = False,
        force: bool = False,
        reviewed: bool = False,
        source_branch: str = "",
        pull_id: str = "",
        extra_writes: Sequence[ExtraWritesFor[Commit]] = (),
    ) -> str:
        """Merges a reference into a branch; returns the id of the new commit. `extra_writes` adds
        writes to those of the commit. A merge is `reviewed` if the caller checks the approvals that
        the branch requires; otherwise it must not require any. Rules, also those of the branch's
        file, read and write the objects that the caller's `rights` allow. Hooks see `source_branch`
        as the source's name, by default `source`. Open pull requests into the branch whose source
        it then contains become merged, except `pull_id`, which the caller records.

        Raises ProtectedBranch; DirtyBranch if the branch has uncommitted changes, even if the
        source does not exist; MergeConflict, with the paths that both sides changed; Invalid for
        resolutions that are wrong.
        """
        sides = keys.branch(destination), keys.branch(source)
        with self._core.prefetch(("merge", repository), *sides):
            stored_repository = self._core.repositories.get(repository)
            check_writable(stored_repository, force=force)
            committer = self._core.require_committer(committer)
            rules = self._rules.read(repository, destination, strategy, resolutions, rights)
            admit: list[ExtraWritesFor[object]] = []
            if not reviewed:
                admit.append(self._core.protection.admission(stored_repository, destination))
            stored_branch = self._core.branches.read(stored_repository, destination)
            try:
                with reference_errors(f"update branch {destination}: get commit by ref {source}"):
                    theirs = self._core.references.commit(stored_repository, source)
            except (NotFound, Invalid):
                # of both errors, lakeFS reports that of the branch
                self._core.committer.require_unstaged(stored_repository, stored_branch.branch)
                raise
        subject = Subject(
            branch=destination, source_ref=theirs.id, merge_source=source_branch or source
        )
        # one of them has each action file of the result, which hooks examine by its own files
        places = Resolved(theirs.id), Resolved(stored_branch.branch.commit_id)
        pulls = RecordMergedPulls(
            self._core.merged_pulls, stored_repository, destination, except_ids=frozenset([pull_id])
        )
        merge = Merge(
            theirs=theirs,
            source=source,
            rules=rules,
            squash=squash,
            allow_empty=allow_empty or force,
        )
        change = self._changes.begin("merge", stored_repository, subject, *places)
        with refused_updates(destination):
            move = BranchChange(
                repository=stored_repository,
                branch=destination,
                fields=CommitFields(committer, message, metadata or {}),
                known=stored_branch,
                extra_writes=(*extra_writes, *admit, change),
                move_writes=(pulls,),
                examination=change.examination,
            )
            merged = self._core.merger.merge(move, merge)
        change.end()
        return merged.id

    def preview_merge(
        self,
        repository: str,
        source: str,
        destination: str,
        *,
        strategy: str = "",
        resolutions: Sequence[Resolution] = (),
        rights: ContentRights | None = None,
    ) -> MergePreview:
        """Returns what merging a reference into a branch would do to the branch's head; staged
        changes are left out. `rights` are as for `merge`. Raises NotFound, and Invalid for
        resolutions that are wrong.
        """
        rules = self._rules.read(repository, destination, strategy, resolutions, rights)
        stored_repository, theirs, head = self._sides(repository, source, destination)
        return self._core.merger.preview(stored_repository, theirs, head, rules)

    def merge_conflicts(
        self,
        repository: str,
        source: str,
        destination: str,
        *,
        prefix: str = "",
        after: str = "",
        amount: int,
        readable: ReadablePaths | None = None,
    ) -> Page[OpenConflict]:
        """Returns a page of the paths that a reference and a branch changed differently since their
        merge base; `readable` ones only, all if that is None.
        """
        stored_repository, theirs, head = self._sides(repository, source, destination)
        read = partial(self._core.merger.conflicts, stored_repository, theirs, head)
        return readable_conflicts(read, readable, prefix=prefix, after=after, amount=amount)

    def row_conflicts(
        self,
        repository: str,
        source: str,
        destination: str,
        path: str,
        *,
        key: Sequence[str] = (),
        file_format: str = "",
        after: str = "",
        amount: int,
        rights: ContentRights | None = None,
    ) -> RowConflictPage:
        """Returns a page of the rows of a table that a reference and a branch changed differently
        since their merge base; staged changes are left out. Rows are matched by `key`, or a column
        that is found. `rights` are as for `merge`. Raises NotFound for a path that is not in
        conflict, Invalid for what is no table that can be merged, Denied, and Conflict (kind
        outdated_choices) if a side has changed since the page before.
        """
        check_path(path)
        listing = RowListing(key=key, file_format=file_format, after=after, amount=amount)
        stored_repository, theirs, head = self._sides(repository, source, destination)
        return self._core.merger.row_conflicts(
            stored_repository,
            theirs,
            head,
            path,
            listing,
            rights or self._rules.default_rights,
        )

    def _sides(
        self, repository: str, source: str, destination: str
    ) -> tuple[Repository, Commit, Commit]:
        core = self._core
        with core.prefetch(("merge sides", repository), keys.branch(destination)):
            stored_repository = core.repositories.get(repository)
            branch = core.branches.read(stored_repository, destination).branch
            with reference_errors(f"get commit by ref {source}"):
                theirs = core.references.commit(stored_repository, source)
        return stored_repository, theirs, core.commits.get(stored_repository, branch.commit_id)

    def merge_base(self, repository: str, source: str, destination: str) -> tuple[str, str, str]:
        """Returns the ids of the source's commit, the destination's, and their merge base."""
        stored_repository = self._core.repositories.get(repository)
        with reference_errors(f"get commit by ref {destination}"):
            right = self._core.references.commit(stored_repository, destination)
        with reference_errors(f"get commit by branch {source}"):
            left = self._core.references.commit(stored_repository, source)
        return left.id, right.id, self._core.merger.base(stored_repository, left, right).id
