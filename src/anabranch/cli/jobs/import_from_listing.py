"""Imports that this process or Spark runs, with the stores of a server's settings."""

from __future__ import annotations

import getpass
import time
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from anabranch.cli.errors import Failure
from anabranch.cli.framework.context import CommandContext
from anabranch.cli.framework.metadata import pairs
from anabranch.cli.framework.server_settings import server_settings
from anabranch.cli.jobs.engine_costs import BYTES_PER_ROW, IMPORT, Amount, choose_engine
from anabranch.cli.jobs.engines import EngineChoice, opener, spark
from anabranch.cli.output.progress import show_progress
from anabranch.model.commits.commit import Commit
from anabranch.model.imports import ImportSource
from anabranch.model.uri import LakeUri
from anabranch.pipelines.imports.commit_import import ImportRequest
from anabranch.pipelines.imports.imports import Imports
from anabranch.pipelines.imports.listings.engine import import_listing_locally, listing_bytes
from anabranch.pipelines.imports.listings.import_listing import Imported, ListingRequest
from anabranch.pipelines.jobs.progress import Progress
from anabranch.server.stores.open_stores import HookedStores, open_hooked_stores, open_stores

if TYPE_CHECKING:
    from anabranch.server.config.loader import Loaded

__all__ = ["engine_for", "import_from_listing"]

_POLL_SECONDS = 0.1


def engine_for(context: CommandContext, source: str) -> EngineChoice:
    """Returns the engine that is expected to be faster for a listing or an inventory."""

    def amount() -> Amount:
        loaded = server_settings(context, context.arguments.data, context.arguments.config)
        with open_stores(loaded.settings) as stores:
            size = listing_bytes(_listing(context), stores.blocks, inventory=source == "inventory")
        return Amount(size // BYTES_PER_ROW, 0, f"{size / (1 << 20):,.0f} MiB")

    return choose_engine(context, IMPORT, amount)


def import_from_listing(context: CommandContext, source: str, engine: str) -> dict[str, Any]:
    """Runs an import. Returns the result for the summary, the commit, and the document for
    `--json`. Raises the errors of the engine; the branch is then unchanged.
    """
    given = context.arguments
    loaded = server_settings(context, given.data, given.config)
    with open_hooked_stores(loaded.settings) as stores:
        if engine == "spark":
            imported = _by_spark(context, source, stores, loaded)
        elif source == "from":
            imported = _by_prefix(context, stores)
        else:
            imported = _by_listing(context, source, stores)
    to: LakeUri = given.to
    location = given.__dict__[source]
    result = {
        "repository": to.repository,
        "branch": to.ref,
        "source": location if isinstance(location, str) else " ".join(location),
        "destination": to.key,
        "commit": imported.commit.id,
        "metarange_id": imported.commit.metarange_id,
        "objects": imported.objects,
        "skipped": dict(imported.skipped),
        "shown": [{"path": path, "reason": reason} for path, reason in imported.shown],
        "phases": dict(imported.phases),
        "tasks": msgspec.to_builtins(imported.tasks),
    }
    return {"result": result, "commit": _commit(imported.commit), "document": result}


def _by_listing(context: CommandContext, source: str, stores: HookedStores) -> Imported:
    given = context.arguments
    with _show_progress(context) as progress:
        return import_listing_locally(
            stores.core,
            stores.blocks,
            given.to.repository,
            _request(context),
            _listing(context),
            inventory=source == "inventory",
            prefix=given.prefix,
            progress=progress,
            changes=stores.changes,
        )


def _by_spark(
    context: CommandContext, source: str, stores: HookedStores, loaded: Loaded
) -> Imported:
    from anabranch.spark.dataframes.inventories import file_listing, inventory_listing  # noqa: PLC0415
    from anabranch.spark.dataframes.prefixes import prefix_listing  # noqa: PLC0415
    from anabranch.spark.jobs.imports import import_listing  # noqa: PLC0415  an extra

    given = context.arguments
    request = _request(context)
    with spark(context) as session, _show_progress(context) as progress:
        progress.begin("sorting the listing and writing tables on Spark", 0)
        if source == "inventory":
            rows = inventory_listing(session, given.inventory, stores.blocks, prefix=given.prefix)
        elif source == "listing":
            rows = file_listing(session, given.listing)
        else:
            # sorting reads it twice, and a bucket should be listed only once
            rows = prefix_listing(
                *(session, stores, given.__dict__["from"]), store=opener(loaded)
            ).persist()
        return import_listing(
            stores,
            given.to.repository,
            request.branch,
            rows,
            store=opener(loaded),
            destination=request.destination,
            message=request.message,
            metadata=request.metadata,
            committer=request.committer,
            on_invalid=request.on_invalid,
            rejected_rows=request.rejected_rows,
            verify=request.verify,
            force=request.force,
        )


def _by_prefix(context: CommandContext, stores: HookedStores) -> Imported:
    """Imports by prefix, as the server does."""
    given = context.arguments
    to: LakeUri = given.to
    kind: Any = "object" if given.object else "common_prefix"
    request = ImportRequest(
        branch=to.ref,
        sources=[ImportSource(type=kind, path=given.__dict__["from"], destination=to.key)],
        committer=_committer(context),
        message=given.message,
        metadata=pairs(given.meta),
    )
    imports = Imports(stores.core, stores.blocks, changes=stores.changes)
    try:
        import_id = imports.start(to.repository, request, force=given.force)
        with show_progress(context.output, rate=True, silent=given.no_progress) as progress:
            progress.begin("Importing", 0)
            done = 0
            while not (status := imports.status(to.repository, to.ref, import_id)).ended:
                progress.advance(status.progress - done)
                done = status.progress
                time.sleep(_POLL_SECONDS)
    finally:
        imports.close()
    if status.commit is None:
        raise Failure(
            status.error or "it did not finish",
            kind="import_failed",
            hint="The branch was not changed. See docs/import.md.",
        )
    return Imported(status.commit, status.progress, {}, [])


def _show_progress(context: CommandContext) -> AbstractContextManager[Progress]:
    return show_progress(context.output, silent=context.arguments.no_progress)


def _request(context: CommandContext) -> ListingRequest:
    given = context.arguments
    return ListingRequest(
        branch=given.to.ref,
        destination=given.to.key,
        message=given.message,
        metadata=pairs(given.meta),
        committer=_committer(context),
        on_invalid=given.on_invalid,
        rejected_rows=None if given.rejected_rows is None else Path(given.rejected_rows),
        # the store has just listed these objects, so they exist
        verify=given.verify or ("none" if given.__dict__["from"] else "sample"),
        force=given.force,
    )


def _committer(context: CommandContext) -> str:
    committer: str | None = context.arguments.committer
    return getpass.getuser() if committer is None else committer


def _listing(context: CommandContext) -> str | Sequence[str]:
    listing: str | Sequence[str] = context.arguments.listing or context.arguments.inventory
    return listing


def _commit(commit: Commit) -> Mapping[str, Any]:
    """Returns a commit as the server's JSON has it."""
    return {
        "id": commit.id,
        "message": commit.message,
        "committer": commit.committer,
        "creation_date": commit.creation_date,
        "parents": list(commit.parents),
        "metadata": dict(commit.metadata),
    }
