"""References: what branches, tags and commits of a repository there are, and moving branches.

One contract; a lake answers it in the driver's process, a server over HTTP.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple, Protocol

import msgspec

from anabranch.errors import AnabranchError
from anabranch.model.branch import Branch
from anabranch.model.commit import Commit
from anabranch.model.page import MAX_AMOUNT, Page
from anabranch.model.tag import Tag
from anabranch.spark.calls import Calls
from anabranch.versioning.log import log

if TYPE_CHECKING:
    from anabranch.library import Lake

__all__ = ["LakeReferences", "Pointer", "References", "ServedReferences", "throw_away"]

_COMMITTER = "spark"


class Pointer(NamedTuple):
    """A branch or a tag: a name and the commit it stands for."""

    id: str
    commit_id: str


class References(Protocol):
    """The references of one repository. All raise NotFound for what is not there."""

    def commit(self, reference: str) -> Commit:
        """Returns the commit that a reference means."""

    def log(self, reference: str, *, first_parent: bool = False) -> Iterator[Commit]:
        """Yields a commit and its ancestors, as `anabranch.versioning.log` orders them."""

    def branch(self, name: str) -> Pointer:
        """Returns a branch."""

    def branches(self, prefix: str = "") -> Iterator[Pointer]:
        """Yields branches by name, without hidden ones."""

    def tags(self, prefix: str = "") -> Iterator[Pointer]:
        """Yields tags by name."""

    def create_hidden(self, name: str, source: str) -> None:
        """Creates a branch that listings leave out, at the commit that `source` means."""

    def delete_branch(self, name: str) -> None:
        """Deletes a branch with what is staged on it."""

    def commit_staged(self, branch: str, message: str, metadata: Mapping[str, str]) -> None:
        """Commits what is staged on a branch. Raises NoChanges."""

    def merge(
        self, source: str, destination: str, message: str, metadata: Mapping[str, str]
    ) -> None:
        """Merges a branch into another. Raises MergeConflict, NoChanges."""


class LakeReferences:
    """Those of a repository of a lake."""

    def __init__(self, lake: Lake, repository: str) -> None:
        self._lake = lake
        self._repository = repository

    def commit(self, reference: str) -> Commit:
        """Returns the commit that a reference means."""
        return self._lake.commits.get(self._repository, reference)

    def log(self, reference: str, *, first_parent: bool = False) -> Iterator[Commit]:
        """Yields a commit and its ancestors."""
        repository = self._lake.repositories.get(self._repository)
        read = self._lake.core.commits.reader(repository)
        return log(read, self.commit(reference), first_parent=first_parent)

    def branch(self, name: str) -> Pointer:
        """Returns a branch."""
        found = self._lake.branches.get(self._repository, name)
        return Pointer(found.id, found.commit_id)

    def branches(self, prefix: str = "") -> Iterator[Pointer]:
        """Yields branches by name."""
        return _pointers(
            lambda after: self._lake.branches.list(
                self._repository, prefix=prefix, after=after, amount=MAX_AMOUNT
            )
        )

    def tags(self, prefix: str = "") -> Iterator[Pointer]:
        """Yields tags by name."""
        return _pointers(
            lambda after: self._lake.tags.list(
                self._repository, prefix=prefix, after=after, amount=MAX_AMOUNT
            )
        )

    def create_hidden(self, name: str, source: str) -> None:
        """Creates a branch that listings leave out."""
        self._lake.branches.create(self._repository, name, source, hidden=True)

    def delete_branch(self, name: str) -> None:
        """Deletes a branch."""
        self._lake.branches.delete(self._repository, name)

    def commit_staged(self, branch: str, message: str, metadata: Mapping[str, str]) -> None:
        """Commits what is staged."""
        self._lake.commits.commit(
            self._repository, branch, message=message, committer=_COMMITTER, metadata=metadata
        )

    def merge(
        self, source: str, destination: str, message: str, metadata: Mapping[str, str]
    ) -> None:
        """Merges a branch into another."""
        self._lake.refs.merge(
            self._repository,
            source,
            destination,
            committer=_COMMITTER,
            message=message,
            metadata=metadata,
        )


class ServedReferences:
    """Those of a repository of a server; whoever has the key pair is the committer."""

    def __init__(self, calls: Calls, repository: str) -> None:
        self._calls = calls
        self._repository = repository

    def commit(self, reference: str) -> Commit:
        """Returns the commit that a reference means."""
        return _commit_of(self._calls.get(self._repository, "commits", reference))

    def log(self, reference: str, *, first_parent: bool = False) -> Iterator[Commit]:
        """Yields a commit and its ancestors."""
        found = self._calls.items(
            self._repository, "refs", reference, "commits", first_parent=str(first_parent).lower()
        )
        return map(_commit_of, found)

    def branch(self, name: str) -> Pointer:
        """Returns a branch."""
        found = self._calls.get(self._repository, "branches", name)
        return Pointer(found["id"], found["commit_id"])

    def branches(self, prefix: str = "") -> Iterator[Pointer]:
        """Yields branches by name."""
        return self._pointers("branches", prefix)

    def tags(self, prefix: str = "") -> Iterator[Pointer]:
        """Yields tags by name."""
        return self._pointers("tags", prefix)

    def create_hidden(self, name: str, source: str) -> None:
        """Creates a branch that listings leave out."""
        body = {"name": name, "source": source, "hidden": True}
        self._calls.change("POST", self._repository, "branches", body=body)

    def delete_branch(self, name: str) -> None:
        """Deletes a branch."""
        self._calls.change("DELETE", self._repository, "branches", name)

    def commit_staged(self, branch: str, message: str, metadata: Mapping[str, str]) -> None:
        """Commits what is staged."""
        self._calls.change(
            "POST",
            *(self._repository, "branches", branch, "commits"),
            body={"message": message, "metadata": dict(metadata)},
        )

    def merge(
        self, source: str, destination: str, message: str, metadata: Mapping[str, str]
    ) -> None:
        """Merges a branch into another."""
        self._calls.change(
            "POST",
            *(self._repository, "refs", source, "merge", destination),
            body={"message": message, "metadata": dict(metadata)},
        )

    def _pointers(self, kind: str, prefix: str) -> Iterator[Pointer]:
        for found in self._calls.items(self._repository, kind, prefix=prefix):
            yield Pointer(found["id"], found["commit_id"])


def _pointers(list_after: Callable[[str], Page[Branch] | Page[Tag]]) -> Iterator[Pointer]:
    """Yields what a listing has, page by page."""
    after, more = "", True
    while more:
        page = list_after(after)
        yield from (Pointer(found.id, found.commit_id) for found in page.items)
        after, more = page.next_offset, page.has_more


def _commit_of(told: Mapping[str, object]) -> Commit:
    """Returns a commit of the wire, where its tree has another name."""
    return msgspec.convert({**told, "metarange_id": told["meta_range_id"]}, Commit)


def throw_away(references: References, name: str, error: BaseException) -> None:
    """Deletes a branch because of an error, to which is noted when that cannot be done."""
    try:
        references.delete_branch(name)
    except AnabranchError as second:
        error.add_note(f"The hidden branch {name} could not be deleted: {second}")
