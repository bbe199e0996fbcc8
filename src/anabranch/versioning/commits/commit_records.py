"""Records of commits that clients write themselves: verifies and adds them."""

from __future__ import annotations

from collections.abc import Sequence

from anabranch import _kernel as kernel
from anabranch.blocks.table_addresses import table_address
from anabranch.errors import AlreadyExists, Gone, Invalid, NotFound
from anabranch.keyvalue.contract import Expect, KeyValueStore
from anabranch.model.commits.commit import COMMIT_VERSION, Commit
from anabranch.model.repositories.repository import Repository
from anabranch.versioning.garbage.tree_admission import TreeAdmission
from anabranch.versioning.history.code_authors import CodeAuthors
from anabranch.versioning.history.commit_store import Commits
from anabranch.versioning.records import keys
from anabranch.versioning.trees.tree_addresses import Importable, TreeAddresses
from anabranch.versioning.trees.trees import Trees

__all__ = ["CommitRecords", "commit_digest", "verify_commit"]

_MAX_GENERATION = 2**31 - 1


def commit_digest(commit: Commit) -> str | None:
    """Returns the digest of a commit's fields, which is its id; None if a field is not UTF-8."""
    try:
        return kernel.commit_id(
            commit.committer,
            commit.message,
            commit.metarange_id,
            commit.creation_date,
            commit.metadata,
            list(commit.parents),
        )
    except UnicodeEncodeError:
        return None


def verify_commit(commit: Commit, parents: Sequence[Commit]) -> None:
    """Raises Invalid unless a commit's id is the digest of its fields, its version is known and
    its generation is greater than those of its parents.
    """
    digest = commit_digest(commit) or "none: a field is not UTF-8"
    if digest != commit.id:
        raise Invalid(
            "commit id: invalid value: validation error",
            kind="invalid_commit_id",
            hint="The id is the digest of the committer, message, tree, date, metadata and "
            f"parents: here {digest}",
        )
    if not 0 <= commit.version <= COMMIT_VERSION:
        raise Invalid(f"unknown version {commit.version} of a commit", kind="invalid_commit")
    least = 1 + max((parent.generation for parent in parents), default=0)
    if not least <= commit.generation <= _MAX_GENERATION:
        raise Invalid(
            f"the generation {commit.generation} of a commit is not at least {least}",
            kind="invalid_commit_generation",
            hint="A commit's generation is one more than the highest of its parents.",
        )


class CommitRecords:
    """Adds records of commits to all repositories."""

    def __init__(
        self,
        keyvalue: KeyValueStore,
        commits: Commits,
        trees: Trees,
        admission: TreeAdmission,
        addresses: TreeAddresses,
        code_authors: CodeAuthors,
    ) -> None:
        self._keyvalue = keyvalue
        self._commits = commits
        self._trees = trees
        self._admission = admission
        self._addresses = addresses
        self._code_authors = code_authors

    def create(
        self, repository: Repository, commit: Commit, importable: Importable | None = None
    ) -> None:
        """Adds a commit, to which no reference leads yet.

        Raises Invalid for a commit that does not agree with its id, its parents or the form of
        ids; NotFound for an absent parent or tree; AlreadyExists; and what the tree of a client
        raises when it is committed on top of the first parent: Denied for addresses, Conflict
        during a sweep.
        """
        parents = [self._parent(repository, name) for name in commit.parents]
        verify_commit(commit, parents)
        before = parents[0].metarange_id if parents else kernel.EMPTY_TREE_ID
        if commit.metarange_id != kernel.EMPTY_TREE_ID:
            table_address(repository.storage_namespace, commit.metarange_id)  # its form
            try:
                self._addresses.require_admitted(
                    repository, before, commit.metarange_id, importable
                )
            except Gone as error:
                raise NotFound(
                    f"the tree {commit.metarange_id} is not in the repository's store",
                    kind="metarange_not_found",
                ) from error
        key = keys.commit(commit.id)
        absent = Expect(repository.partition, key, None)
        while True:
            if self._keyvalue.get(repository.partition, key) is not None:
                raise AlreadyExists(
                    "commit already exists: not unique", kind="commit_already_exists"
                )
            admitted, unchanged = self._admission.admit(
                repository, kernel.EMPTY_TREE_ID, commit.metarange_id
            )
            # its committer is what the client says
            author = self._code_authors.of_commit(repository, commit.id)
            writes = [self._commits.write(repository, commit), author, *admitted]
            if self._keyvalue.apply(writes, [absent, *unchanged]):
                return

    def _parent(self, repository: Repository, commit_id: str) -> Commit:
        parent = self._commits.find(repository, commit_id)
        if parent is None:
            raise NotFound(
                f"commit not found: the parent {commit_id}",
                kind="commit_not_found",
                hint="Create the records of a commit's parents before its own.",
            )
        return parent
