"""Rules about changed files: where they are, their format, their size.

files:
  - within: [tables/, docs/]
  - {path: "tables/**", formats: [parquet], max_size: 256 MiB}
"""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from functools import partial

import msgspec

from anabranch.actions.hooks.checks.changed_files import ChangedFile, changed_files
from anabranch.actions.hooks.checks.formats import not_of_formats
from anabranch.actions.hooks.checks.problems import Problems
from anabranch.actions.hooks.contract import HookContext
from anabranch.actions.hooks.properties import Properties
from anabranch.errors import HookFailed

__all__ = ["FileRule", "check_files", "file_rule"]

_SIZE = re.compile(r"(\d+(?:\.\d+)?) *([KMGT]?i?B)?", re.IGNORECASE | re.ASCII)
_FACTORS = {"": 1, "K": 1000, "M": 1000**2, "G": 1000**3, "T": 1000**4}
_BINARY_FACTORS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


class FileRule(msgspec.Struct, frozen=True):
    """What holds for files that are added or changed and whose path matches."""

    path: str
    within: list[str]
    formats: list[str]
    max_size: int | None


def file_rule(properties: Properties) -> FileRule:
    """Returns a rule. Raises Invalid."""
    rule = FileRule(
        properties.text("path", "**"),
        list(properties.texts("within")),
        list(properties.texts("formats")),
        _size(properties) if "max_size" in properties else None,
    )
    properties.refuse_others()
    if not rule.within and not rule.formats and rule.max_size is None:
        raise properties.invalid("", "a rule for files needs within, formats or max_size")
    return rule


def check_files(context: HookContext, rules: Sequence[FileRule], problems: Problems) -> None:
    """Adds the problems of the files that the event adds or changes. Raises HookFailed once
    time is up.
    """
    for rule in rules:
        for file in changed_files(context, rule.path):
            if time.monotonic() > context.deadline:
                raise HookFailed(
                    "the check of files did not finish in time",
                    hint="Raise its property timeout, or let its rules concern fewer files.",
                )
            if file.size is not None:
                _check(context, rule, file, file.size, problems)


def _check(
    context: HookContext, rule: FileRule, file: ChangedFile, size: int, problems: Problems
) -> None:
    if rule.within and not file.path.startswith(tuple(rule.within)):
        problems.add(
            f"{file.path} is not under {' or '.join(rule.within)}: move it there or remove it"
        )
    if rule.max_size is not None and size > rule.max_size:
        problems.add(
            f"{file.path} has {size} bytes, more than the {rule.max_size} allowed: divide it"
        )
    if rule.formats:
        read = partial(context.lake.read, context.reference, file.path)
        reason = not_of_formats(file.path, rule.formats, read)
        if reason:
            allowed = ", ".join(rule.formats)
            problems.add(f"{file.path}: {reason}; allowed here: {allowed}")


def _size(properties: Properties) -> int:
    value = properties.any("max_size")
    match = _SIZE.fullmatch(value) if isinstance(value, str) else None
    if match:
        unit = (match[2] or "").upper().removesuffix("B")
        factors = _BINARY_FACTORS if unit.endswith("I") else _FACTORS
        return int(float(match[1]) * factors[unit.removesuffix("I")])
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return value
    raise properties.invalid(
        "max_size", f"must be a number of bytes, or text such as 256 MiB, not {value!r}"
    )
