"""References that are views of a branch: with its staged changes, or without them."""

from __future__ import annotations

__all__ = ["branch_of"]


def branch_of(reference: str) -> str:
    """Returns the branch that a reference is, or is a view of: `main` for `main`, `main@` and
    `main$`. Other expressions are returned as they are.
    """
    return reference[:-1] if reference.endswith(("@", "$")) else reference
