"""Transactions: changes on a hidden branch that are merged completely or not at all.

The changes are invisible until the block ends; an error in the block discards them. After the
block, only merged changes are deleted, and conflicting ones if the caller wants that.
"""

from __future__ import annotations

import secrets
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from anabranch.errors import AnabranchError, MergeConflict, NoChanges
from anabranch.spark.sources.commit_sources import Source, open_references
from anabranch.spark.sources.references import throw_away

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["transaction"]

_SHOWN = 5
"""The number of conflicting paths in a message."""


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
) -> Iterator[str]:
    """Gives the name of a hidden branch created from `branch`, for `s3a://repository/name/path`.

    When the block ends without an error, its changes are committed and merged into `branch`, both
    with `message` (by default the name of Spark's application) and `metadata` (the application's id
    is added as `spark.app.id`); then the hidden branch is deleted. A block without changes creates
    no commit. If the block raises, the hidden branch is deleted and the error propagates.

    Raises NotFound immediately if the repository or the branch does not exist. Raises
    MergeConflict, with the paths, if both sides changed the same ones: the hidden branch then
    stays, with the changes committed, and the error names it; without `keep_conflicting` it is
    deleted. It also stays if the commit or the merge fails for another reason; a note of the error
    has its name.
    """
    references = open_references(source, repository)
    start = references.branch(branch).commit_id
    name = f"transaction-{secrets.token_hex(8)}"
    told = {"spark.app.id": spark.conf.get("spark.app.id", "") or "", **(metadata or {})}
    words = message or f"Transaction of {spark.conf.get('spark.app.name', 'Spark')}"
    references.create_hidden(name, start)
    try:
        yield name
    except BaseException as error:
        throw_away(references, name, error)
        raise
    try:
        with suppress(NoChanges):
            references.commit_staged(name, words, told)
        with suppress(NoChanges):
            references.merge(name, branch, words, told)
    except MergeConflict as error:
        if not keep_conflicting:
            throw_away(references, name, error)
        raise _translate_errors(error, repository, branch, name, kept=keep_conflicting) from error
    except AnabranchError as error:
        error.add_note(f"What the transaction did is on the hidden branch {name} of {repository}.")
        raise
    try:
        references.delete_branch(name)
    except AnabranchError as error:
        # the changes are merged: after an error the caller would repeat them
        warnings.warn(
            f"{repository}: {name} is merged into {branch}, but was not deleted: {error}",
            stacklevel=3,
        )


def _translate_errors(
    error: MergeConflict, repository: str, branch: str, name: str, *, kept: bool
) -> MergeConflict:
    """Returns the error of a conflict for the caller of the transaction."""
    paths = ", ".join(error.paths[:_SHOWN]) + (", …" if error.count > _SHOWN else "")
    told = MergeConflict(
        f"{repository}: nothing was merged: {branch} has changed meanwhile at {error.count} of the"
        f" paths that the transaction changed: {paths}",
        paths=error.paths,
        count=error.count,
    )
    told.hint = (
        f"The work is kept on the hidden branch {name}: merge it with a strategy (source-wins,"
        " dest-wins), or delete it."
        if kept
        else "The work is thrown away: do it again from the branch as it is now."
    )
    return told
