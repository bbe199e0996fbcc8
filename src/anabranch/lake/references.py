"""The parts of a lake that concern repositories, references and commits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Protocol, runtime_checkable

from anabranch.model.commits.change import Change
from anabranch.model.commits.commit import Commit
from anabranch.model.commits.conflict import MergePreview, OpenConflict, Resolution
from anabranch.model.commits.row_conflict import RowConflictPage
from anabranch.model.commits.row_difference import RowDifferencePage
from anabranch.model.page import Page
from anabranch.model.references.branch import Branch, ResetKind
from anabranch.model.references.tag import Tag
from anabranch.model.repositories.repository import Repository

__all__ = ["Branches", "Commits", "Refs", "Repositories", "Tags"]


@runtime_checkable
class Repositories(Protocol):
    """The repositories of a lake."""

    def create(
        self,
        name: str,
        storage_namespace: str | None = None,
        *,
        default_branch: str = "main",
        bare: bool = False,
        read_only: bool = False,
        sample_data: bool = False,
    ) -> Repository:
        """Creates a repository in a storage namespace of its own, by default that of its name.
        Raises AlreadyExists, and Invalid for a name or a namespace that cannot be used.
        """

    def get(self, name: str) -> Repository:
        """Returns a repository. Raises NotFound, and Gone while it is being deleted."""

    def list(
        self, *, prefix: str = "", after: str = "", amount: int, search: str = ""
    ) -> Page[Repository]:
        """Returns a page of repositories by name, of those whose name contains `search`."""

    def delete(self, name: str, *, force: bool = False) -> None:
        """Deletes a repository; its objects stay in the store. Raises Conflict, without `force`, if
        images reference any of them.
        """

    def metadata(self, name: str) -> dict[str, str]:
        """Returns the metadata of a repository."""

    def set_metadata(self, name: str, metadata: Mapping[str, str]) -> None:
        """Sets keys of a repository's metadata; other keys are unchanged."""

    def delete_metadata(self, name: str, keys: Sequence[str]) -> None:
        """Removes keys of a repository's metadata."""


@runtime_checkable
class Branches(Protocol):
    """The branches of repositories. Changes raise ReadOnlyRepository unless `force`."""

    def create(
        self,
        repository: str,
        name: str,
        source: str,
        *,
        hidden: bool = False,
        force: bool = False,
    ) -> Branch:
        """Creates a branch at the commit of `source`; listings omit it if it is `hidden`."""

    def get(self, repository: str, name: str) -> Branch:
        """Returns a branch. Raises NotFound."""

    def list(
        self,
        repository: str,
        *,
        prefix: str = "",
        after: str = "",
        amount: int,
        show_hidden: bool = False,
    ) -> Page[Branch]:
        """Returns a page of branches by name."""

    def delete(self, repository: str, name: str, *, force: bool = False) -> None:
        """Deletes a branch with its uncommitted changes."""

    def reset(
        self, repository: str, name: str, kind: ResetKind, path: str = "", *, force: bool = False
    ) -> None:
        """Drops uncommitted changes: all, those under a prefix, or those of one object."""

    def hard_reset(
        self, repository: str, name: str, reference: str, *, force: bool = False
    ) -> None:
        """Moves a branch to the commit of a reference. Raises DirtyBranch."""

    def changes(
        self,
        repository: str,
        name: str,
        *,
        prefix: str = "",
        after: str = "",
        delimiter: str = "",
        amount: int,
    ) -> Page[Change]:
        """Returns a page of a branch's uncommitted changes."""

    def revert(
        self,
        repository: str,
        name: str,
        *references: str,
        parent_number: int = 0,
        committer: str | None = None,
        message: str = "",
        metadata: dict[str, str] | None = None,
        allow_empty: bool = False,
        force: bool = False,
        strategy: str = "",
        resolutions: Sequence[Resolution] = (),
    ) -> Sequence[Commit]:
        """Commits the inverse of the changes of each commit, in order; either all or none."""

    def cherry_pick(
        self,
        repository: str,
        name: str,
        reference: str,
        *,
        parent_number: int | None = None,
        committer: str | None = None,
        message: str = "",
        metadata: dict[str, str] | None = None,
        force: bool = False,
        strategy: str = "",
        resolutions: Sequence[Resolution] = (),
    ) -> Commit:
        """Applies the changes of another commit to a branch."""


@runtime_checkable
class Tags(Protocol):
    """The tags of repositories."""

    def create(self, repository: str, name: str, reference: str, *, force: bool = False) -> Tag:
        """Creates a tag at the commit of a reference."""

    def get(self, repository: str, name: str) -> Tag:
        """Returns a tag. Raises NotFound."""

    def list(self, repository: str, *, prefix: str = "", after: str = "", amount: int) -> Page[Tag]:
        """Returns a page of tags by name."""

    def delete(self, repository: str, name: str, *, force: bool = False) -> None:
        """Deletes a tag."""


@runtime_checkable
class Commits(Protocol):
    """The commits of repositories."""

    def commit(
        self,
        repository: str,
        branch: str,
        *,
        message: str,
        committer: str | None = None,
        metadata: Mapping[str, str] | None = None,
        date: int | None = None,
        allow_empty: bool = False,
        force: bool = False,
    ) -> Commit:
        """Commits the staged changes of a branch; `date` is in seconds since 1970, None for now.
        Raises NoChanges unless `allow_empty`.
        """

    def get(self, repository: str, reference: str) -> Commit:
        """Returns the commit of a reference."""

    def log(
        self,
        repository: str,
        reference: str,
        *,
        after: str = "",
        amount: int,
        limit: bool = False,
        first_parent: bool = False,
        since: datetime | None = None,
        stop_at: str = "",
        objects: Sequence[str] = (),
        prefixes: Sequence[str] = (),
    ) -> Page[Commit]:
        """Returns a page of a reference's history, newest first; with `objects` or `prefixes`, of
        the commits that changed one of them.
        """


@runtime_checkable
class Refs(Protocol):
    """Two references of a repository: their differences, and merges of one into the other."""

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
    ) -> Page[Change]:
        """Returns a page of the changes that merging `right` into `left` would make; with
        `two_dot`, of the differences of both trees.
        """

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
    ) -> RowDifferencePage:
        """Returns a page of the rows of a table that differ; it may be shorter than `amount`."""

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
        squash: bool = False,
        allow_empty: bool = False,
        force: bool = False,
    ) -> str:
        """Merges a reference into a branch; returns the id of the new commit. Raises MergeConflict
        with the paths that both sides changed, DirtyBranch, ProtectedBranch.
        """

    def preview_merge(
        self,
        repository: str,
        source: str,
        destination: str,
        *,
        strategy: str = "",
        resolutions: Sequence[Resolution] = (),
    ) -> MergePreview:
        """Returns what merging a reference into a branch would do."""

    def merge_conflicts(
        self,
        repository: str,
        source: str,
        destination: str,
        *,
        prefix: str = "",
        after: str = "",
        amount: int,
    ) -> Page[OpenConflict]:
        """Returns a page of the paths that both sides changed since their merge base."""

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
    ) -> RowConflictPage:
        """Returns a page of the rows of a table that both sides changed since their merge base; it
        may be shorter than `amount`. A resolution chooses for them: `{"path": path, "strategy":
        "rows", "key": page.key, "versions": page.versions, "choices": […]}`, and a choice is
        `{"key": row.key, "take": side}` or `{"key": row.key, "cells": {column: side}}`.
        """

    def merge_base(self, repository: str, source: str, destination: str) -> tuple[str, str, str]:
        """Returns the ids of the source's commit, the destination's, and their merge base."""
