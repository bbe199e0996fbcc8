"""Messages of lakeFS for errors with a deeper cause: clients show them and scripts match them.

The failed step precedes its cause, as in `get commit from ref main~7: not found`. Details that
lakeFS's message omits are in the hint.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from anabranch.errors import (
    Conflict,
    Invalid,
    MergeConflict,
    NoChanges,
    NotFound,
    PreconditionFailed,
)

__all__ = [
    "name_is_a_branch",
    "name_is_a_tag",
    "reference_errors",
    "refused_updates",
    "update_errors",
]

_NOT_FOUND = "not found"


@contextmanager
def reference_errors(step: str) -> Iterator[None]:
    """Prefixes errors of a reference that cannot be read with the `step` that reads it."""
    try:
        yield
    except NotFound as error:
        if error.kind not in {"reference_not_found", "commit_not_found"}:
            raise
        raise NotFound(f"{step}: {_NOT_FOUND}", kind=error.kind, hint=error.hint) from error
    except Invalid as error:
        if error.kind not in {"invalid_reference", "parent_out_of_range"}:
            raise
        raise Invalid(f"{step}: {error.message}", kind=error.kind, hint=error.hint) from error


@contextmanager
def refused_updates(branch: str = "") -> Iterator[None]:
    """Gives the errors of hooks that refuse the update of a branch the messages of lakeFS."""
    try:
        yield
    except PreconditionFailed as error:
        if error.kind != "hook_failed":
            raise
        step = f"update branch {branch}" if branch else "update branch"
        message = f"{step}: {error.message}"
        raise PreconditionFailed(message, kind=error.kind, hint=error.hint) from error


@contextmanager
def update_errors() -> Iterator[None]:
    """Gives errors of a failed branch update the messages of lakeFS."""
    try:
        with refused_updates():
            yield
    except NoChanges as error:
        raise NoChanges("update branch: no changes", kind=error.kind, hint=error.hint) from error
    except MergeConflict as error:
        raise MergeConflict(
            f"update branch: {error.message}",
            paths=error.paths,
            count=error.count,
            commit_id=error.commit_id,
            conflicts=error.conflicts,
            hint=error.hint,
        ) from error


def name_is_a_branch(name: str) -> Conflict:
    """Returns the error of a tag that cannot have the name of a branch."""
    return Conflict(f"branch name {name}: conflict found", kind="name_is_a_branch")


def name_is_a_tag(name: str) -> Conflict:
    """Returns the error of a branch that cannot have the name of a tag."""
    return Conflict(f"tag ID {name}: conflict found", kind="name_is_a_tag")
