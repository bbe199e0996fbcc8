"""A server's repository as the target of an import, which sends it a complete tree.

The tables are already in the repository's store. A hidden branch gets the tree, and a squash merge
brings it onto the branch as one commit. A concurrent commit is not lost: the tree is rebuilt from
that commit, or, if it happened during the merge, a second merge follows.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from anabranch import _kernel as kernel
from anabranch.errors import DirtyBranch, Invalid, NotFound, NotSupported
from anabranch.model.commit import Commit
from anabranch.model.names import encode_path
from anabranch.pipelines.imports.commit_import import DEFAULT_MESSAGE
from anabranch.pipelines.imports.listings.import_listing import ListingRequest, WrittenListing
from anabranch.pipelines.imports.replace_prefixes import replacement_changes
from anabranch.spark.sources.references import ServerReferences, discard_branch
from anabranch.spark.sources.server_pins import UNKNOWN_OPERATION
from anabranch.spark.sources.server_source import Server
from anabranch.spark.sources.stores import Opener, open_store
from anabranch.spark.sources.table_files import StoredTables
from anabranch.versioning.trees import translate_errors
from anabranch.work_folders import WorkFolder

__all__ = ["ServerTarget"]


class ServerTarget:
    """A server's repository, whose `store` the driver and the workers can access; `tables` are in
    that store. Raises NotFound, NotSupported without a store, and Invalid for a store other than
    the server's.
    """

    def __init__(self, server: Server, repository: str, store: Opener | None) -> None:
        namespace = server.storage_namespace(repository)
        if store is None:
            raise NotSupported(
                f"{namespace}: workers must reach this store to import",
                hint="Pass it as `store`, such as anabranch.spark.S3Store(…); or have the server"
                " import, by prefix: the command `import`.",
            )
        _require_same_store(server, store, namespace)
        self._calls = server.calls
        self._references = ServerReferences(server.calls, repository)
        self._repository = repository
        self._sweeps_begun: int | None = None
        self.tables = StoredTables(store, namespace)

    def require_clean(self, request: ListingRequest) -> None:
        """Raises DirtyBranch for uncommitted changes, NotFound, and Invalid for a committer. It is
        called before any row is read.
        """
        if request.committer:
            raise Invalid("the committer is the user of the server's key pair")
        location = (self._repository, "branches", request.branch, "diff")
        if self._calls.get(*location, amount="1")["results"]:
            raise DirtyBranch("uncommitted changes (dirty branch)")
        try:
            self._sweeps_begun = int(self._calls.get(self._repository, "gc", "sweeps")["begun"])
        except NotFound as error:
            if UNKNOWN_OPERATION not in error.message:
                raise

    def folder(self) -> AbstractContextManager[str]:
        """Gives a folder of this machine."""
        return WorkFolder("spark")

    def commit(self, request: ListingRequest, folder: str, written: WrittenListing) -> Commit:
        """Returns the commit that the branch points to after the import."""
        self.tables.put(folder, written.tables)
        prefix = encode_path(request.prefix)
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
                    # a concurrent commit was merged: replace its content under the destination as
                    # well

    @contextmanager
    def _hidden(self, head: str) -> Iterator[str]:
        """Gives a hidden branch at a commit and deletes it afterwards."""
        name = f"import-{secrets.token_hex(8)}"
        self._references.create_hidden(name, head)
        try:
            yield name
        except BaseException as error:
            discard_branch(self._references, name, error)
            raise
        self._references.delete_branch(name)

    def _replaced(self, head: str, imported: str, prefix: bytes) -> str:
        """Returns the tree of the head with the destination replaced by the imported tree."""
        if head == kernel.EMPTY_TREE_ID:
            return imported
        with (
            WorkFolder("spark") as folder,
            self.tables.locator() as locate,
            translate_errors(),
        ):
            pool = kernel.Tables()
            tree = pool.tree(head, locate)
            changes = replacement_changes(tree, pool.tree(imported, locate), [prefix])
            made = tree.apply(changes, folder)
            self.tables.put(folder, made.tables)
        return made.metarange_id

    def _take(self, name: str, tree: str, request: ListingRequest) -> None:
        """Commits a tree of the store to a branch."""
        query = {"source_metarange": tree}
        if self._sweeps_begun is not None:
            query["sweeps_begun"] = str(self._sweeps_begun)
        self._calls.change(
            "POST",
            *(self._repository, "branches", name, "commits"),
            query=query,
            body={**_request_json(request), "allow_empty": True},
        )

    def _merge(self, name: str, request: ListingRequest) -> Commit:
        """Returns the commit that merges a branch's tree into that of the import."""
        made = self._calls.change(
            "POST",
            *(self._repository, "refs", name, "merge", request.branch),
            body={
                **_request_json(request),
                "strategy": "source-wins",
                "squash_merge": True,
                "allow_empty": True,
            },
        )
        return self._references.commit(json.loads(made)["reference"])


def _require_same_store(server: Server, store: Opener, namespace: str) -> None:
    """Raises Invalid unless a store has the type of the server's store and accepts the namespace,
    because rows are validated by its rules instead of the server's.
    """
    with open_store(store) as blocks:
        ours = blocks.config.blockstore_type
        accepted = blocks.accepts(namespace)
    theirs = server.calls.storage_config().get("blockstore_type", ours)
    if ours != theirs or not accepted:
        raise Invalid(
            f"{namespace}: the server's store is {theirs}, the one that is given is {ours}"
            + ("" if accepted else ", which cannot hold this"),
            kind="other_store",
            hint="Pass the store of the server's settings (blockstore).",
        )


def _request_json(request: ListingRequest) -> dict[str, Any]:
    return {
        "message": request.message or DEFAULT_MESSAGE,
        "metadata": dict(request.metadata),
        "force": request.force,
    }
