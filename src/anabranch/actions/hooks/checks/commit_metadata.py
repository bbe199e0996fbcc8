"""Metadata that a commit must have.

commit_metadata: [ticket, owner]
commit_metadata: {ticket: "FL-*"}     # the value matches a pattern
"""

from __future__ import annotations

from collections.abc import Mapping

from anabranch.actions.hooks.checks.problems import Problems
from anabranch.actions.hooks.contract import HookContext
from anabranch.actions.hooks.properties import Properties
from anabranch.errors import Invalid
from anabranch.patterns.glob import glob

__all__ = ["check_commit_metadata", "required_metadata"]

_NAME = "commit_metadata"


def required_metadata(properties: Properties) -> Mapping[str, str]:
    """Returns the names that are required, with the patterns of their values. Raises Invalid."""
    if isinstance(properties.any(_NAME), list | str):
        return dict.fromkeys(properties.texts(_NAME), "*")
    found = properties.mapping(_NAME)
    for name, pattern in found.items():
        if not isinstance(pattern, str):
            raise properties.invalid(f"{_NAME}.{name}", "must be a pattern as text")
        try:
            glob(pattern)
        except Invalid as error:
            raise properties.invalid(f"{_NAME}.{name}", error.message, error.hint) from error
    return found


def check_commit_metadata(
    context: HookContext, required: Mapping[str, str], problems: Problems
) -> None:
    """Adds a problem for each name that the commit lacks, or whose value does not match."""
    given = context.event.commit_metadata
    for name, pattern in required.items():
        value = given.get(name, "")
        if not value:
            problems.add(f"the commit has no metadata {name}: commit with {name}=…")
        elif not glob(pattern).matches(value):
            problems.add(f"the commit's metadata {name} is {value!r}, which is not {pattern}")
