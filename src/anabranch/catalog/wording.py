"""lakeFS's texts for errors whose cause is deeper: clients show them, and scripts match them.

What failed stands before its cause, as in `get commit from ref main~7: not found`. The details that
lakeFS's text leaves out are in the hint.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from anabranch.errors import Invalid, MergeConflict, NoChanges, NotFound

__all__ = ["reference_errors", "update_errors"]

_NOT_FOUND = "not found"


@contextmanager
def reference_errors(step: str) -> Iterator[None]:
    """Words the errors of a reference that cannot be read for the `step` that reads it."""
    try:
        yield
    except NotFound as error:
        if error.kind not in {"reference_not_found", "commit_not_found"}:
            raise
        raise NotFound(f"{step}: {_NOT_FOUND}", kind=error.kind, hint=_details(error)) from error
    except Invalid as error:
        if error.kind != "parent_out_of_range":
            raise
        message = f"{step}: ref: invalid value: validation error"
        raise Invalid(message, kind=error.kind, hint=_details(error)) from error


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


def _details(error: NotFound | Invalid) -> str:
    if error.message == _NOT_FOUND:
        return error.hint
    return f"{error.message[:1].upper()}{error.message[1:]}. {error.hint}".rstrip()
