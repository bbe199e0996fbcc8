"""Transactions: changes on a hidden branch that are merged atomically at the end of a block.

Other readers do not see the changes until the block ends; an error in the block discards them. If
the merge fails, the hidden branch with the committed changes is kept, unless the caller requests
that conflicting changes are discarded.
"""

from __future__ import annotations

import secrets
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from anabranch.errors import AnabranchError, MergeConflict, NoChanges
from anabranch.lake.spark.catalogs import EXTENSIONS, OF_ICEBERG, session_catalog
from anabranch.lake.table_rules import table_rules
from anabranch.spark.sources.commit_sources import Source, open_references
from anabranch.spark.sources.references import discard_branch
from anabranch.spark.sources.server_source import Server

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["transaction"]

_MAX_SHOWN_PATHS = 5
"""The maximum number of conflicting paths in an error message."""


@contextmanager
def transaction(
    spark: SparkSession,
    source: Source,
    repository: str,
    branch: str,
    *,
    message: str = "",
    metadata: Mapping[str, str] | None = None,
    keep_conflicting: bool = True,
    tables: Iterable[str] = (),
) -> Iterator[str]:
    """Gives the name of a hidden branch created from `branch`, for `s3a://repository/name/path`. In
    a session that has Iceberg, it is also the catalog of the branch's tables: `name.city.trips`.

    When the block ends without an error, its changes are committed and merged into `branch`, both
    with `message` (by default with the name of the Spark application) and `metadata` (the id of the
    application is added as `spark.app.id`); then the hidden branch is deleted. A block without
    changes creates no commit. If the block raises, the hidden branch is deleted and the error
    propagates.

    What others have written to a table meanwhile is no conflict, as far as the rules of its format
    allow, for tables of the catalog, and for `tables`, which are folders of Delta tables.

    Raises NotFound at the beginning if the repository or the branch does not exist. Raises
    MergeConflict, with the paths, if both branches changed the same paths: the hidden branch is
    kept, with the changes committed, and the error names it; without `keep_conflicting` it is
    deleted. It is also kept if the commit or the merge fails for another reason; a note of the
    error names it.
    """
    rules = table_rules(tables)
    references = open_references(source, repository)
    start = references.branch(branch).commit_id
    name = f"transaction_{secrets.token_hex(8)}"  # which may name a catalog of Spark
    commit_metadata = {"spark.app.id": spark.conf.get("spark.app.id", "") or "", **(metadata or {})}
    commit_message = message or f"Transaction of {spark.conf.get('spark.app.name', 'Spark')}"
    references.create_hidden(name, start)
    try:
        with _catalog(spark, source, f"{repository}/{name}", name):
            yield name
    except BaseException as error:
        discard_branch(references, name, error)
        raise
    try:
        with suppress(NoChanges):
            references.commit_staged(name, commit_message, commit_metadata)
        with suppress(NoChanges):
            references.merge(name, branch, commit_message, commit_metadata, rules)
    except MergeConflict as error:
        if not keep_conflicting:
            discard_branch(references, name, error)
        raise _conflict_error(error, repository, branch, name, kept=keep_conflicting) from error
    except AnabranchError as error:
        error.add_note(
            f"The changes of the transaction are on the hidden branch {name} of {repository}."
        )
        raise
    try:
        references.delete_branch(name)
    except AnabranchError as error:
        # the changes are merged: an error would make the caller repeat them
        warnings.warn(
            f"{repository}: {name} is merged into {branch}, but was not deleted: {error}",
            stacklevel=3,
        )


@contextmanager
def _catalog(spark: SparkSession, source: Source, address: str, name: str) -> Iterator[None]:
    """Sets the catalog of a reference for a block, in a session whose extensions Iceberg's are
    among; Spark forgets the settings afterwards.
    """
    extensions = spark.conf.get(EXTENSIONS, "") or ""
    if not isinstance(source, Server) or OF_ICEBERG not in extensions:
        yield
        return
    settings = session_catalog(name, address, source.url, source.keys)
    for key, value in settings.items():
        spark.conf.set(key, value)
    try:
        yield
    finally:
        for key in settings:
            spark.conf.unset(key)


def _conflict_error(
    error: MergeConflict, repository: str, branch: str, name: str, *, kept: bool
) -> MergeConflict:
    """Returns a merge conflict as the error of a transaction."""
    listed = len(error.paths)
    number = f"more than {listed}" if error.count is None else f"{error.count}"
    paths = ", ".join(error.paths[:_MAX_SHOWN_PATHS]) + (
        ", …" if error.count is None or error.count > _MAX_SHOWN_PATHS else ""
    )
    conflict = MergeConflict(
        f"{repository}: nothing was merged: {branch} has changed at {number} of the paths that"
        f" the transaction changed, since it began: {paths}",
        paths=error.paths,
        count=error.count,
    )
    conflict.hint = (
        f"The changes are kept on the hidden branch {name}: merge it with a strategy (source-wins,"
        " dest-wins), or delete it."
        if kept
        else "The changes were discarded: repeat them on the current head of the branch."
    )
    return conflict
