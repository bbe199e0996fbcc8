"""The hook `check`: rules without code.

properties:
  tables:
    - {path: "tables/*.parquet", schema: unchanged, not_null: [id], unique: [id]}
  files:
    - {path: "tables/**", formats: [parquet]}
  commit_metadata: [ticket]
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from typing import Any

import msgspec

from anabranch.actions.hooks.checks.commit_metadata import (
    check_commit_metadata,
    required_metadata,
)
from anabranch.actions.hooks.checks.file_rules import FileRule, check_files, file_rule
from anabranch.actions.hooks.checks.problems import Problems, TooManyProblems
from anabranch.actions.hooks.checks.table_rules import table_rule
from anabranch.actions.hooks.contract import HookContext
from anabranch.actions.hooks.process.isolated import IsolatedHook
from anabranch.actions.hooks.properties import Properties
from anabranch.errors import NotSupported

__all__ = ["Check", "check"]

_TIMEOUT_SECONDS = 600.0
_MEMORY_BYTES = 8 << 30
_TABLE_CHECKS = "anabranch.actions.hooks.checks.tables.table_checks:table_checks"


class Check(msgspec.Struct, frozen=True):
    """The rules of one hook; `tables` reads tables in a process of its own. `timeout` is the
    time for all together, in seconds.
    """

    files: Sequence[FileRule]
    metadata: Mapping[str, str]
    tables: IsolatedHook | None
    timeout: float

    def run(self, context: HookContext) -> None:
        """Raises HookFailed with the problems."""
        deadline = min(context.deadline, time.monotonic() + self.timeout)
        context = msgspec.structs.replace(context, deadline=deadline)
        problems = Problems(context.output)
        try:
            check_commit_metadata(context, self.metadata, problems)
            check_files(context, self.files, problems)
        except TooManyProblems:
            problems.fail_if_any()
        problems.fail_if_any()
        if self.tables is not None:
            self.tables.run(context)


def check(values: Mapping[str, Any]) -> Check:
    """Returns the hook with these properties. Raises Invalid (kind invalid_hook), and NotSupported
    if rules for tables need a library that is not installed.
    """
    properties = Properties(values)
    files = [file_rule(each) for each in properties.items("files")]
    rules = [table_rule(each) for each in properties.items("tables")]
    metadata = required_metadata(properties)
    timeout = properties.duration("timeout", _TIMEOUT_SECONDS)
    properties.refuse_others()
    if not files and not rules and not metadata:
        raise properties.invalid("", "a check needs tables, files or commit_metadata")
    needed = ["pyarrow"] * bool(rules) + ["duckdb"] * any(rule.unique for rule in rules)
    if not all(map(find_spec, needed)):
        raise NotSupported(
            f"these checks of tables need {' and '.join(needed)}",
            kind="library_missing",
            hint="Install them on the server: pip install 'anabranch[merge]'",
        )
    tables = IsolatedHook(
        name="check of tables",
        factory=_TABLE_CHECKS,
        properties={"rules": msgspec.to_builtins(rules)},
        timeout=timeout,
        memory_bytes=_MEMORY_BYTES,
    )
    return Check(files, metadata, tables if rules else None, timeout)
