"""Transactions: work on a hidden branch that comes into another whole, or not at all.

Until the block ends nobody sees the work; what it raises throws the work away. From its end on
nothing is thrown away that is not merged, unless the caller wants conflicts to do so.
"""

from __future__ import annotations

import secrets
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from anabranch.errors import AnabranchError, MergeConflict, NoChanges
from anabranch.spark.references import throw_away
from anabranch.spark.sources import Source, references_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["transaction"]

_SHOWN = 5
"""How many paths of a conflict a message names."""


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
    """Gives the name of a hidden branch made from `branch`, good for `s3a://repository/name/path`.

    When the block ends well, what is staged there is committed and merged into `branch`, both with
    `message` (the name of Spark's application by default) and `metadata` (to which the id of the
    application is added, as `spark.app.id`); then the hidden branch is deleted. A block that
    changed nothing leaves no commit. When the block raises, the hidden branch is deleted and the
    error goes on.

    Raises NotFound at once when the repository or the branch is not there. Raises MergeConflict,
    with the paths, when both sides changed the same ones: the hidden branch then stays, with the
    work committed, and the error names it; without `keep_conflicting` it is deleted. It also stays
    when committing or merging fails otherwise, and the error has a note of its name.
    """
    references = references_of(source, repository)
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
        raise _told_clearly(error, repository, branch, name, kept=keep_conflicting) from error
    except AnabranchError as error:
        error.add_note(f"What the transaction did is on the hidden branch {name} of {repository}.")
        raise
    try:
        references.delete_branch(name)
    except AnabranchError as error:
        # the work is merged: an error would have it done again
        warnings.warn(
            f"{repository}: {name} is merged into {branch}, but was not deleted: {error}",
            stacklevel=3,
        )


def _told_clearly(
    error: MergeConflict, repository: str, branch: str, name: str, *, kept: bool
) -> MergeConflict:
    """Returns what a conflict means to who made the transaction."""
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
