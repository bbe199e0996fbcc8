"""lakeFS's texts for errors whose cause is deeper: clients show them, and scripts match them.

What failed stands before its cause, as in `get commit from ref main~7: not found`. The details that
lakeFS's text leaves out are in the hint.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from anabranch.errors import Conflict, Invalid, MergeConflict, NoChanges, NotFound

__all__ = ["name_is_a_branch", "name_is_a_tag", "reference_errors", "update_errors"]

_NOT_FOUND = "not found"


@contextmanager
def reference_errors(step: str) -> Iterator[None]:
    """Words the errors of a reference that cannot be read for the `step` that reads it."""
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
def update_errors() -> Iterator[None]:
    """Words the errors of an update of a branch that has no result."""
    try:
        yield
    except NoChanges as error:
        raise NoChanges("update branch: no changes", kind=error.kind, hint=error.hint) from error
    except MergeConflict as error:
        message = f"update branch: {error.message}"
        raise MergeConflict(message, paths=error.paths, count=error.count) from error


def name_is_a_branch(name: str) -> Conflict:
    """Returns the error of a tag that cannot have the name of a branch."""
    return Conflict(f"branch name {name}: conflict found", kind="name_is_a_branch")


def name_is_a_tag(name: str) -> Conflict:
    """Returns the error of a branch that cannot have the name of a tag."""
    return Conflict(f"tag ID {name}: conflict found", kind="name_is_a_tag")
