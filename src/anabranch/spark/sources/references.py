"""The branches, tags and commits of a repository, and changes of branches.

Two classes implement the protocol: for a lake in the driver's process, and for a server over HTTP.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

from anabranch.converter import Converter
from anabranch.errors import AnabranchError
from anabranch.model.commits.commit import Commit
from anabranch.model.commits.conflict import Resolution
from anabranch.model.page import MAX_AMOUNT, Page
from anabranch.model.references.branch import Branch
from anabranch.model.references.tag import Tag
from anabranch.pipelines.jobs.leases import HeldPin, StoredPin
from anabranch.spark.sources.repositories_client import RepositoriesClient
from anabranch.spark.sources.server_pins import ServerPin
from anabranch.versioning.history.log import log

if TYPE_CHECKING:
    from anabranch.library import Lake

__all__ = ["LakeReferences", "Pointer", "References", "ServerReferences", "discard_branch"]

_TO_COMMIT = Converter(Commit)

_COMMITTER = "spark"


class Pointer(NamedTuple):
    """A branch or a tag, with its commit."""

    id: str
    commit_id: str


class References(Protocol):
    """The references of one repository. All methods raise NotFound."""

    def commit(self, reference: str) -> Commit:
        """Returns the commit that a reference resolves to."""

    def log(self, reference: str, *, first_parent: bool = False) -> Iterator[Commit]:
        """Yields a commit and its ancestors, in the order of `anabranch.versioning.history.log`."""

    def branch(self, name: str) -> Pointer:
        """Returns a branch."""

    def branches(self, prefix: str = "") -> Iterator[Pointer]:
        """Yields branches by name, without hidden ones."""

    def tags(self, prefix: str = "") -> Iterator[Pointer]:
        """Yields tags by name."""

    def create_hidden(self, name: str, source: str) -> None:
        """Creates a hidden branch, which listings omit, at the commit of `source`."""

    def delete_branch(self, name: str) -> None:
        """Deletes a branch and its uncommitted changes."""

    def commit_staged(self, branch: str, message: str, metadata: Mapping[str, str]) -> None:
        """Commits the uncommitted changes of a branch. Raises NoChanges."""

    def merge(
        self,
        source: str,
        destination: str,
        message: str,
        metadata: Mapping[str, str],
        resolutions: Sequence[Resolution] = (),
    ) -> None:
        """Merges a branch into another. Raises MergeConflict, NoChanges."""

    def new_pin(self, name: str = "") -> HeldPin:
        """Returns a new pin without commits; the default name is random."""


class LakeReferences:
    """The references of a repository of a lake."""

    def __init__(self, lake: Lake, repository: str) -> None:
        self._lake = lake
        self._repository = repository

    def commit(self, reference: str) -> Commit:
        """Returns the commit that a reference resolves to."""
        return self._lake.commits.get(self._repository, reference)

    def log(self, reference: str, *, first_parent: bool = False) -> Iterator[Commit]:
        """Yields a commit and its ancestors."""
        repository = self._lake.repositories.get(self._repository)
        read = self._lake.core.commits.reader(repository)
        return log(read, self.commit(reference), first_parent=first_parent)

    def branch(self, name: str) -> Pointer:
        """Returns a branch."""
        branch = self._lake.branches.get(self._repository, name)
        return Pointer(branch.id, branch.commit_id)

    def branches(self, prefix: str = "") -> Iterator[Pointer]:
        """Yields branches by name, without hidden ones."""
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
        """Creates a hidden branch."""
        self._lake.branches.create(self._repository, name, source, hidden=True)

    def delete_branch(self, name: str) -> None:
        """Deletes a branch and its uncommitted changes."""
        self._lake.branches.delete(self._repository, name)

    def commit_staged(self, branch: str, message: str, metadata: Mapping[str, str]) -> None:
        """Commits the uncommitted changes of a branch."""
        self._lake.commits.commit(
            self._repository, branch, message=message, committer=_COMMITTER, metadata=metadata
        )

    def merge(
        self,
        source: str,
        destination: str,
        message: str,
        metadata: Mapping[str, str],
        resolutions: Sequence[Resolution] = (),
    ) -> None:
        """Merges a branch into another."""
        self._lake.refs.merge(
            self._repository,
            source,
            destination,
            committer=_COMMITTER,
            message=message,
            metadata=metadata,
            resolutions=resolutions,
        )

    def new_pin(self, name: str = "") -> HeldPin:
        """Returns a pin in the key-value store."""
        repository = self._lake.core.repositories.get(self._repository)
        return StoredPin(self._lake.core, repository, name)


class ServerReferences:
    """The references of a repository of a server. The committer is the user of the key pair."""

    def __init__(self, client: RepositoriesClient, repository: str) -> None:
        self._client = client
        self._repository = repository

    def commit(self, reference: str) -> Commit:
        """Returns the commit that a reference resolves to."""
        return _parse_commit(self._client.get(self._repository, "commits", reference))

    def log(self, reference: str, *, first_parent: bool = False) -> Iterator[Commit]:
        """Yields a commit and its ancestors."""
        commits = self._client.items(
            self._repository, "refs", reference, "commits", first_parent=str(first_parent).lower()
        )
        return map(_parse_commit, commits)

    def branch(self, name: str) -> Pointer:
        """Returns a branch."""
        branch = self._client.get(self._repository, "branches", name)
        return Pointer(branch["id"], branch["commit_id"])

    def branches(self, prefix: str = "") -> Iterator[Pointer]:
        """Yields branches by name, without hidden ones."""
        return self._pointers("branches", prefix)

    def tags(self, prefix: str = "") -> Iterator[Pointer]:
        """Yields tags by name."""
        return self._pointers("tags", prefix)

    def create_hidden(self, name: str, source: str) -> None:
        """Creates a hidden branch."""
        body = {"name": name, "source": source, "hidden": True}
        self._client.change("POST", self._repository, "branches", body=body)

    def delete_branch(self, name: str) -> None:
        """Deletes a branch and its uncommitted changes."""
        self._client.change("DELETE", self._repository, "branches", name)

    def commit_staged(self, branch: str, message: str, metadata: Mapping[str, str]) -> None:
        """Commits the uncommitted changes of a branch."""
        self._client.change(
            "POST",
            *(self._repository, "branches", branch, "commits"),
            body={"message": message, "metadata": dict(metadata)},
        )

    def merge(
        self,
        source: str,
        destination: str,
        message: str,
        metadata: Mapping[str, str],
        resolutions: Sequence[Resolution] = (),
    ) -> None:
        """Merges a branch into another."""
        rules = {"resolutions": list(resolutions)} if resolutions else {}
        self._client.change(
            "POST",
            *(self._repository, "refs", source, "merge", destination),
            body={"message": message, "metadata": dict(metadata), **rules},
        )

    def new_pin(self, name: str = "") -> HeldPin:
        """Returns a pin of the server."""
        return ServerPin(self._client, self._repository, name)

    def _pointers(self, kind: str, prefix: str) -> Iterator[Pointer]:
        for pointer in self._client.items(self._repository, kind, prefix=prefix):
            yield Pointer(pointer["id"], pointer["commit_id"])


def _pointers(list_after: Callable[[str], Page[Branch] | Page[Tag]]) -> Iterator[Pointer]:
    """Yields the branches or tags of all pages of a listing."""
    after, more = "", True
    while more:
        page = list_after(after)
        yield from (Pointer(each.id, each.commit_id) for each in page.items)
        after, more = page.next_offset, page.has_more


def _parse_commit(payload: Mapping[str, object]) -> Commit:
    """Returns a commit from its JSON, in which `metarange_id` is spelled `meta_range_id`."""
    return _TO_COMMIT.convert({**payload, "metarange_id": payload["meta_range_id"]})


def discard_branch(references: References, name: str, error: BaseException) -> None:
    """Deletes a hidden branch after an error. If that fails, adds a note to the error."""
    try:
        references.delete_branch(name)
    except AnabranchError as second:
        error.add_note(f"The hidden branch {name} could not be deleted: {second}")
