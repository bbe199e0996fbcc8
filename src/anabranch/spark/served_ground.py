"""A server's repository as the ground that imports land on: it is handed the whole tree.

Tables lie in the repository's store already. A hidden branch takes the tree as it is, and a merge
that leaves one commit brings it onto the branch. A commit that comes first is not lost: the tree is
then made anew from that; and if it came in the moment of the merge, a second one follows.
"""

from __future__ import annotations

import json
import secrets
import tempfile
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from anabranch import _kernel as kernel
from anabranch.errors import DirtyBranch, Invalid, NotSupported
from anabranch.model.commit import Commit
from anabranch.model.names import key_of
from anabranch.pipelines.imports.landed_listing import ListingRequest, WrittenListing
from anabranch.pipelines.imports.landing import DEFAULT_MESSAGE
from anabranch.pipelines.imports.replacing import replacement
from anabranch.spark.references import ServedReferences, throw_away
from anabranch.spark.server import Server
from anabranch.spark.stores import Opener
from anabranch.spark.table_files import StoredTables
from anabranch.versioning.trees import translated

__all__ = ["ServedGround"]


class ServedGround:
    """A server's repository, whose `store` the driver and the workers reach; `tables` are there.
    Raises NotFound, and NotSupported without a store.
    """

    def __init__(self, server: Server, repository: str, store: Opener | None) -> None:
        namespace = server.storage_namespace(repository)
        if store is None:
            raise NotSupported(
                f"{namespace}: workers must reach this store to import",
                hint="Give it as `store`, such as anabranch.spark.S3Store(…); or have the server"
                " import, by prefix: the command `import`.",
            )
        self._calls = server.calls
        self._references = ServedReferences(server.calls, repository)
        self._repository = repository
        self.tables = StoredTables(store, namespace)

    def require_clean(self, request: ListingRequest) -> None:
        """Raises DirtyBranch for what is staged, NotFound, Invalid for a committer."""
        if request.committer:
            raise Invalid("the committer is whoever has the server's key pair")
        at = (self._repository, "branches", request.branch, "diff")
        with self._calls.read(*at, query={"amount": "1"}) as answer:
            if json.load(answer)["results"]:
                raise DirtyBranch("uncommitted changes (dirty branch)")

    def folder(self) -> AbstractContextManager[str]:
        """Gives a folder of this machine."""
        return tempfile.TemporaryDirectory(prefix="anabranch-spark-")

    def commit(self, request: ListingRequest, folder: str, written: WrittenListing) -> Commit:
        """Returns the commit that the branch was moved to."""
        self.tables.put(folder, written.tables)
        prefix = key_of(request.prefix)
        merged: Commit | None = None
        while True:
            head = merged.id if merged else self._references.branch(request.branch).commit_id
            before = self._references.commit(head).metarange_id
            tree = self._replaced(before, written.metarange_id, prefix)
            if merged and tree == before:
                return merged
            with self._hidden(head) as name:
                self._take(name, tree, request)
                if merged or self._references.branch(request.branch).commit_id == head:
                    merged = self._merge(name, request)
                    if merged.parents[0] == head:
                        return merged
                    # somebody came first: what that put under the destination is still to go

    @contextmanager
    def _hidden(self, head: str) -> Iterator[str]:
        """Gives a hidden branch at a commit, which is deleted afterwards."""
        name = f"import-{secrets.token_hex(8)}"
        self._references.create_hidden(name, head)
        try:
            yield name
        except BaseException as error:
            throw_away(self._references, name, error)
            raise
        self._references.delete_branch(name)

    def _replaced(self, head: str, imported: str, prefix: bytes) -> str:
        """Returns the tree that has what was imported in place of what is there in the head's."""
        if head == kernel.EMPTY_TREE_ID:
            return imported
        with (
            tempfile.TemporaryDirectory(prefix="anabranch-spark-") as folder,
            self.tables.located() as locate,
            translated(),
        ):
            pool = kernel.Tables()
            tree = pool.tree(head, locate)
            changes = replacement(tree, pool.tree(imported, locate), [prefix])
            made = tree.apply(changes, folder)
            self.tables.put(folder, made.tables)
        return made.metarange_id

    def _take(self, name: str, tree: str, request: ListingRequest) -> None:
        """Makes a tree in the store that of a branch."""
        self._calls.change(
            "POST",
            *(self._repository, "branches", name, "commits"),
            query={"source_metarange": tree},
            body={**_told(request), "allow_empty": True},
        )

    def _merge(self, name: str, request: ListingRequest) -> Commit:
        """Returns the one commit that brings a branch's tree onto that of the import."""
        made = self._calls.change(
            "POST",
            *(self._repository, "refs", name, "merge", request.branch),
            body={
                **_told(request),
                "strategy": "source-wins",
                "squash_merge": True,
                "allow_empty": True,
            },
        )
        return self._references.commit(json.loads(made)["reference"])


def _told(request: ListingRequest) -> dict[str, Any]:
    return {
        "message": request.message or DEFAULT_MESSAGE,
        "metadata": dict(request.metadata),
        "force": request.force,
    }
