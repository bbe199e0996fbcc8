"""Objects at a reference: the entries of a commit's tree, overlaid by staged changes."""

from __future__ import annotations

from collections.abc import Iterator

from anabranch import _kernel as kernel
from anabranch.errors import NotFound
from anabranch.model.names import check_path, encode_path
from anabranch.model.objects.entry import Entry
from anabranch.model.page import upper_bound
from anabranch.model.repositories.repository import Repository
from anabranch.versioning.history.commit_store import Commits
from anabranch.versioning.objects.sealed_trees import SealedTree, SealedTrees, areas_above
from anabranch.versioning.records.entries import Value, entry_from
from anabranch.versioning.references.references import References, Resolved
from anabranch.versioning.staging.area import Row, Staging
from anabranch.versioning.trees.trees import Trees

__all__ = ["Objects", "no_object"]


def no_object(path: str) -> NotFound:
    """Returns the error of a path without an object."""
    return NotFound("not found", kind="object_not_found", hint=f"No object at {path!r}.")


class Objects:
    """Reads the entries of objects."""

    def __init__(
        self,
        references: References,
        commits: Commits,
        staging: Staging,
        trees: Trees,
        sealed_trees: SealedTrees,
    ) -> None:
        self._references = references
        self._commits = commits
        self._staging = staging
        self._trees = trees
        self._sealed_trees = sealed_trees

    def get(
        self, repository: Repository, reference: str, path: str, *, at: Resolved | None = None
    ) -> Entry:
        """Returns the entry at a path, at a reference or `at` what it named before. Raises
        NotFound.
        """
        check_path(path)
        resolved = at or self._references.resolve(repository, reference)
        value = self.value(repository, resolved, path)
        if value is None:
            raise no_object(path)
        return entry_from(value)

    def value(self, repository: Repository, resolved: Resolved, path: str) -> Value | None:
        """Returns the newest value at a path, staged or committed; None if there is none."""
        self._sealed_trees.ask(repository, resolved, 0)
        return self.value_in(repository, resolved.commit_id, resolved.tokens, encode_path(path))

    def value_in(
        self, repository: Repository, commit_id: str, tokens: tuple[str, ...], key: bytes
    ) -> Value | None:
        """Returns the value of a key in the first of the staging areas that has it, else in a
        commit; None if there is none.
        """

        def read(sealed: SealedTree | None) -> Value | None:
            staged = self._staging.get(areas_above(sealed, tokens), key)
            if staged is not None:
                return staged.value
            if sealed is not None:
                return self._trees.read(sealed.tree.get, key)
            return self.committed(repository, commit_id, key)

        return self._sealed_trees.read(commit_id, tokens, read)

    def entry_at(self, repository: Repository, resolved: Resolved, path: str) -> Entry | None:
        """Returns the newest entry at a path, or None."""
        value = self.value(repository, resolved, path)
        return None if value is None else entry_from(value)

    def committed(self, repository: Repository, commit_id: str, key: bytes) -> Value | None:
        """Returns the value of a key in a commit, or None."""
        return self._trees.read(self.tree(repository, commit_id).get, key)

    def tree(self, repository: Repository, commit_id: str) -> kernel.Tree:
        """Returns a commit's tree."""
        commit = self._commits.get(repository, commit_id)
        return self._trees.open(repository, commit.metarange_id)

    def listing(
        self,
        repository: Repository,
        reference: str,
        *,
        prefix: str = "",
        after: str = "",
        delimiter: str = "",
        amount: int,
    ) -> kernel.Listing:
        """Returns a page of objects and common prefixes, staged changes included."""
        resolved = self._references.resolve(repository, reference)
        page = {"prefix": prefix, "after": after, "delimiter": delimiter}
        return self.listing_at(repository, resolved, **page, amount=amount)

    def listing_at(
        self,
        repository: Repository,
        resolved: Resolved,
        *,
        prefix: str = "",
        after: str = "",
        delimiter: str = "",
        amount: int,
    ) -> kernel.Listing:
        """Returns a page of objects and common prefixes at a resolved reference. Staged changes are
        read in chunks, as far as the page reaches.
        """
        page = {
            "prefix": encode_path(prefix),
            "after": encode_path(after),
            "delimiter": encode_path(delimiter),
        }
        end = upper_bound(encode_path(prefix))

        def fill(tree: kernel.Tree, tokens: tuple[str, ...]) -> tuple[kernel.Listing, int]:
            listing, changes = tree.listing(**page, amount=amount), 0
            while not listing.done:
                rows, last = self._staged_rows(tokens, listing.position, end, amount)
                listing.feed_staged(rows, last)
                changes += len(rows)
            return listing, changes

        def read(sealed: SealedTree | None) -> tuple[kernel.Listing, int]:
            tree = sealed.tree if sealed else self.tree(repository, resolved.commit_id)
            return self._trees.read(fill, tree, areas_above(sealed, resolved.tokens))

        listing, changes = self._sealed_trees.read(resolved.commit_id, resolved.tokens, read)
        self._sealed_trees.ask(repository, resolved, changes - len(listing))
        return listing

    def _staged_rows(
        self, tokens: tuple[str, ...], start: bytes, end: bytes | None, amount: int
    ) -> tuple[list[Row], bool]:
        if not tokens:
            return [], True
        return self._staging.chunk(tokens, start, end, amount + 1)

    def entries(
        self, repository: Repository, reference: str, *, prefix: str = "", page: int = 1000
    ) -> Iterator[tuple[str, Entry]]:
        """Yields every object under a prefix as (path, entry), in order."""
        after = ""
        more = True
        while more:
            listing = self.listing(repository, reference, prefix=prefix, after=after, amount=page)
            for key, value in listing.rows():
                if value is not None:
                    after = key.decode("utf-8", "surrogateescape")
                    yield after, entry_from(value)
            more = listing.has_more
