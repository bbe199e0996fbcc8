"""Reads dumps of references, and verifies everything in them.

A dump comes from a client as three ids. What it names may be damaged, incomplete, something else
than a dump, or written to deceive: so each table is compared with its id, each commit with its
digest, and each name with the rules of names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from anabranch import _kernel as kernel
from anabranch.blocks.table_addresses import table_address
from anabranch.errors import Corrupt, Gone, Invalid
from anabranch.model.commits.commit import Commit
from anabranch.model.names import check_branch, check_tag, encode_path
from anabranch.model.references.branch import Branch
from anabranch.model.references.tag import Tag
from anabranch.model.repositories.refs_dump import RefsDump
from anabranch.model.repositories.repository import Repository
from anabranch.versioning.commits.commit_records import verify_commit
from anabranch.versioning.history.commit_store import Commits
from anabranch.versioning.records import dumps, references
from anabranch.versioning.records.entries import Value
from anabranch.versioning.trees.trees import Trees

__all__ = ["DumpedRefs", "RefsDumpReader", "dump_errors"]

_PAGE_SIZE = 10_000


class DumpedRefs(NamedTuple):
    """The verified contents of a dump; branches have no staging areas."""

    commits: dict[str, Commit]
    branches: list[Branch]
    tags: list[Tag]


class dump_errors:  # noqa: N801  used like a function: `with dump_errors():`
    """Context manager that raises Invalid (kind invalid_refs_dump) for damaged tables: they are the
    dump's, which the client has chosen.
    """

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, Corrupt):
            raise _invalid(error.message) from error


class RefsDumpReader:
    """Reads the dumps of all repositories."""

    def __init__(self, trees: Trees, commits: Commits) -> None:
        self._trees = trees
        self._commits = commits

    def read(
        self, repository: Repository, dump: RefsDump, advance: Callable[[int], None]
    ) -> DumpedRefs:
        """Returns the contents of a dump. `advance` is called with numbers of records.

        Raises Invalid (kind invalid_refs_dump), and Gone for a tree that does not exist (kind
        metarange_not_found) or lacks a range (kind metadata_missing).
        """
        with dump_errors():
            commits: dict[str, Commit] = {}
            for key, (_, data) in self._records(repository, dump.commits, dumps.COMMITS, advance):
                commit = references.commit_from(data)
                _check_key(key, commit.id)
                commits[commit.id] = commit
            branches: list[Branch] = []
            for key, (_, data) in self._records(repository, dump.branches, dumps.BRANCHES, advance):
                branches.append(references.branch_from(data))
                _check_key(key, branches[-1].id)
            tags: list[Tag] = []
            for key, (_, data) in self._records(repository, dump.tags, dumps.TAGS, advance):
                tags.append(references.tag_from(data))
                _check_key(key, tags[-1].id)
        for commit in commits.values():
            self._check_commit(repository, commits, commit)
        _check_references(commits, branches, tags)
        return DumpedRefs(commits, branches, tags)

    def verify_trees(self, repository: Repository, metarange_ids: Iterable[str]) -> None:
        """Verifies the metaranges of commits. Raises Gone and Corrupt."""
        for metarange_id in metarange_ids:
            if metarange_id != kernel.EMPTY_TREE_ID:
                self._verify(repository, metarange_id)

    def _records(
        self,
        repository: Repository,
        metarange_id: str,
        stored_as: dumps.DumpFormat,
        advance: Callable[[int], None],
    ) -> Iterator[tuple[bytes, Value]]:
        """Yields the records of one tree of a dump, after the verification of its tables."""
        if metarange_id == kernel.EMPTY_TREE_ID:
            return  # as in lakeFS
        table_address(repository.storage_namespace, metarange_id)  # its form
        try:
            path = self._verify(repository, metarange_id)
        except Gone as error:
            raise Gone(
                f"No data: the tree {metarange_id} is not in the repository's storage namespace",
                kind="metarange_not_found",
                hint="Dump the references again, or look at the repository's storage namespace.",
            ) from error
        properties = self._trees.read(kernel.table_properties, path)
        entity = properties.get(dumps.ENTITY, b"object").decode(errors="replace")
        if entity != stored_as.entity:
            raise _invalid(
                f"{metarange_id} has records of the kind {entity!r}, not {stored_as.entity!r}"
            )
        tree = self._trees.open(repository, metarange_id)
        for table in self._trees.read(tree.ranges):
            self._verify(repository, table.id)
        after = b""
        while rows := self._trees.read(_list_page, tree, after):
            advance(len(rows))
            for key, value in rows:
                if value is not None:  # never None: there are no common prefixes
                    yield key, value
            after = rows[-1][0]

    def _verify(self, repository: Repository, table_id: str) -> str:
        """Returns the path of a table whose content has its id. Raises Gone, Corrupt."""

        def verify() -> str:
            path = self._trees.locate(repository, table_id)
            if kernel.verify_table(path) != table_id:
                raise Corrupt(f"the content of the table {table_id} has another id", path=path)
            return path

        return self._trees.read(verify)

    def _check_commit(
        self, repository: Repository, commits: dict[str, Commit], commit: Commit
    ) -> None:
        parents = []
        for name in commit.parents:
            parent = commits.get(name) or self._commits.find(repository, name)
            if parent is None:
                raise _invalid(f"the dump lacks {name}, a parent of the commit {commit.id}")
            parents.append(parent)
        try:
            verify_commit(commit, parents)
        except Invalid as error:
            raise _invalid(f"commit {commit.id}: {error.message}") from error


def _check_key(key: bytes, name: str) -> None:
    if key != encode_path(name):
        raise _invalid(f"the record of {name!r} has another key: {key!r}")


def _check_references(commits: dict[str, Commit], branches: list[Branch], tags: list[Tag]) -> None:
    """Raises Invalid for names that are invalid or ambiguous, and for missing commits."""
    names: set[str] = set()
    checks: list[tuple[Branch | Tag, Callable[[str], None]]] = []
    checks += [(branch, check_branch) for branch in branches]
    checks += [(tag, check_tag) for tag in tags]
    for ref, check in checks:
        try:
            check(ref.id)
        except Invalid as error:
            raise _invalid(f"{ref.id!r}: {error.message}") from error
        if ref.id in names or ref.id in commits:
            raise _invalid(f"{ref.id!r} names several of a branch, a tag and a commit")
        if ref.commit_id not in commits:
            raise _invalid(f"the dump lacks the commit of {ref.id!r}: {ref.commit_id}")
        names.add(ref.id)


def _list_page(tree: kernel.Tree, after: bytes) -> list[tuple[bytes, Value | None]]:
    page = tree.listing(after=after, amount=_PAGE_SIZE)
    page.feed([], last=True)
    return page.rows()


def _invalid(reason: str) -> Invalid:
    return Invalid(
        reason,
        kind="invalid_refs_dump",
        hint="Nothing was restored. Dump the references again.",
    )
