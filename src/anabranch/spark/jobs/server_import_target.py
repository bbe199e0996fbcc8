"""A server's repository as the target of an import.

The import has already written the tables of the new tree to the repository's store. The tree is
committed to a hidden branch, and a squash merge makes it one commit of the branch. If another
commit was made to the branch meanwhile, the tree is rebuilt from that commit; if it was made during
the merge, a second merge follows.
"""

from __future__ import annotations

import json
import logging
import secrets
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from anabranch import _kernel as kernel
from anabranch.errors import AnabranchError, DirtyBranch, Invalid, NotFound, NotSupported
from anabranch.files.work_folders import WorkFolder
from anabranch.model.commits.commit import Commit
from anabranch.model.names import encode_path
from anabranch.pipelines.imports.commit_import import DEFAULT_MESSAGE
from anabranch.pipelines.imports.listings.import_listing import ListingRequest, WrittenListing
from anabranch.pipelines.imports.replace_prefixes import replacement_changes
from anabranch.spark.sources.references import ServerReferences, discard_branch
from anabranch.spark.sources.server_pins import UNKNOWN_OPERATION
from anabranch.spark.sources.server_source import Server
from anabranch.spark.sources.stores import Opener, open_store
from anabranch.spark.sources.table_files import StoredTables
from anabranch.versioning.trees.trees import translate_errors

__all__ = ["ServerTarget"]

_log = logging.getLogger("anabranch.spark")


class ServerTarget:
    """A repository of a server. The driver and the workers access its tables in `store`. Raises
    NotFound, NotSupported without a store, and Invalid for a store that is not the server's.
    """

    def __init__(self, server: Server, repository: str, store: Opener | None) -> None:
        namespace = server.storage_namespace(repository)
        if store is None:
            raise NotSupported(
                f"{namespace}: workers need access to this store for an import",
                hint="Pass it as `store`, such as anabranch.spark.S3Store(…), or import a prefix"
                " on the server with the command `import`.",
            )
        _require_same_store(server, store, namespace)
        self._client = server.client
        self._references = ServerReferences(server.client, repository)
        self._repository = repository
        self._sweeps_begun: int | None = None
        self.tables = StoredTables(store, namespace)

    def require_clean(self, request: ListingRequest) -> None:
        """Raises DirtyBranch if the branch has uncommitted changes, NotFound, and Invalid if the
        request has a committer. Called before any row is read.
        """
        if request.committer:
            raise Invalid("a committer cannot be set: it is the user of the server's key pair")
        location = (self._repository, "branches", request.branch, "diff")
        if self._client.get(*location, amount="1")["results"]:
            raise DirtyBranch("uncommitted changes (dirty branch)")
        try:
            self._sweeps_begun = int(self._client.get(self._repository, "gc", "sweeps")["begun"])
        except NotFound as error:
            if UNKNOWN_OPERATION not in error.message:
                raise

    def folder(self) -> AbstractContextManager[str]:
        """Gives a local folder."""
        return WorkFolder("spark")

    def commit(self, request: ListingRequest, folder: str, written: WrittenListing) -> Commit:
        """Returns the commit that the branch points to after the import."""
        self.tables.put(folder, written.tables)
        prefix = encode_path(request.prefix)
        merged: Commit | None = None
        while True:
            head = merged.id if merged else self._references.branch(request.branch).commit_id
            before = self._references.commit(head).metarange_id
            tree = self._replace_destination(before, written.metarange_id, prefix)
            if merged and tree == before:
                return merged
            with self._hidden_branch(head) as name:
                self._commit_tree(name, tree, request)
                if merged or self._references.branch(request.branch).commit_id == head:
                    merged = self._merge(name, request)
                    if merged.parents[0] == head:
                        return merged
                    # a concurrent commit was merged: replace its objects under the destination, too

    @contextmanager
    def _hidden_branch(self, head: str) -> Iterator[str]:
        """Creates a hidden branch at a commit and deletes it when the context ends."""
        name = f"import-{secrets.token_hex(8)}"
        self._references.create_hidden(name, head)
        try:
            yield name
        except BaseException as error:
            discard_branch(self._references, name, error)
            raise
        try:
            self._references.delete_branch(name)
        except AnabranchError as error:  # the import has been made
            _log.warning("the hidden branch %s could not be deleted: %s", name, error.message)

    def _replace_destination(self, head: str, imported: str, prefix: bytes) -> str:
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
            written = tree.apply(changes, folder)
            self.tables.put(folder, written.tables)
        return written.metarange_id

    def _commit_tree(self, name: str, tree: str, request: ListingRequest) -> None:
        """Commits a tree to a branch."""
        query = {"source_metarange": tree}
        if self._sweeps_begun is not None:
            query["sweeps_begun"] = str(self._sweeps_begun)
        self._client.change(
            "POST",
            *(self._repository, "branches", name, "commits"),
            query=query,
            body={**_request_json(request), "allow_empty": True},
        )

    def _merge(self, name: str, request: ListingRequest) -> Commit:
        """Merges a hidden branch into the branch of the import and returns the new commit."""
        response = self._client.change(
            "POST",
            *(self._repository, "refs", name, "merge", request.branch),
            body={
                **_request_json(request),
                "strategy": "source-wins",
                "squash_merge": True,
                "allow_empty": True,
            },
        )
        return self._references.commit(json.loads(response)["reference"])


def _require_same_store(server: Server, store: Opener, namespace: str) -> None:
    """Raises Invalid unless the store has the same type as the server's and accepts the namespace,
    because it validates the addresses of the listing in place of the server's store.
    """
    with open_store(store) as blocks:
        ours = blocks.config.blockstore_type
        accepted = blocks.accepts(namespace)
    theirs = server.client.storage_config().get("blockstore_type", ours)
    if ours != theirs or not accepted:
        raise Invalid(
            f"{namespace}: the server's store is {theirs}, but the given store is {ours}"
            + ("" if accepted else " and does not accept this namespace"),
            kind="other_store",
            hint="Pass the store of the server's `blockstore` settings.",
        )


def _request_json(request: ListingRequest) -> dict[str, Any]:
    return {
        "message": request.message or DEFAULT_MESSAGE,
        "metadata": dict(request.metadata),
        "force": request.force,
    }
