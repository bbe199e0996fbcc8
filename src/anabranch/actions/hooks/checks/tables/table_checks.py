"""The rules about tables, applied to the files that an event changes."""

from __future__ import annotations

import string
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from typing import Any

from anabranch.actions.hooks.checks.changed_files import changed_files, files_at
from anabranch.actions.hooks.checks.problems import Problems, TooManyProblems
from anabranch.actions.hooks.checks.table_rules import TableRule
from anabranch.actions.hooks.checks.tables.cells import RangeRule, first_null
from anabranch.actions.hooks.checks.tables.limits import Misfit
from anabranch.actions.hooks.checks.tables.schemas import schema_differences
from anabranch.actions.hooks.checks.tables.table_file import TableFile, open_table_file
from anabranch.actions.hooks.contract import HookContext
from anabranch.converter import Converter
from anabranch.errors import NotFound
from anabranch.tables.json_values import json_column
from anabranch.tables.table import UnreadableTable

__all__ = ["TableChecks", "table_checks"]

_TO_RULES = Converter(list[TableRule])

_ID_CHARS = 64
_SHORT_ID_CHARS = 12


def table_checks(properties: Mapping[str, Any]) -> TableChecks:
    """Returns the checks of the property `rules`."""
    return TableChecks(_TO_RULES.convert(properties["rules"]))


class TableChecks:
    """Rules about tables."""

    def __init__(self, rules: Sequence[TableRule]) -> None:
        self._rules = rules

    def run(self, context: HookContext) -> None:
        """Raises HookFailed with the problems."""
        problems = Problems(context.output)
        try:
            for rule in self._rules:
                _Rule(context, rule, problems).check()
        except TooManyProblems:
            problems.fail_if_any()
        problems.fail_if_any()


class _Rule:
    """One rule in one run."""

    def __init__(self, context: HookContext, rule: TableRule, problems: Problems) -> None:
        self._context = context
        self._rule = rule
        self._problems = problems

    def check(self) -> None:
        changes = list(changed_files(self._context, self._rule.path))
        changed = [file.path for file in changes if file.size is not None]
        readable = [path for path in changed if self._check_file(path)]
        if not self._rule.together:
            for path in readable:
                self._check_group([path])
        elif changes and readable == changed:
            files = files_at(self._context, self._context.reference, self._rule.path)
            self._check_group([file.path for file in files])

    def _check_file(self, path: str) -> bool:
        """Checks what a file tells by itself. Returns whether it can be read, and has the columns
        of the key.
        """
        rule = self._rule
        try:
            with self._open(path) as table:
                self._check_schema(path, table)
                missing = [
                    name
                    for name in dict.fromkeys((*rule.not_null, *rule.ranges, *rule.unique))
                    if name not in table.schema.names
                ]
                for name in missing:
                    self._problems.add(f"{path} has no column {name}: add it")
                self._check_cells(path, table, set(missing))
        except UnreadableTable as error:
            self._problems.add(f"{path}: {error}")
            return False
        return not set(missing) & set(rule.unique)

    def _check_schema(self, path: str, table: TableFile) -> None:
        expected = self._expected_schema(path)
        if expected is None:
            return
        place, schema = expected
        for difference in schema_differences(schema, table.schema):
            self._problems.add(f"{path}: {difference}; its schema must be that of {place}")

    def _expected_schema(self, path: str) -> tuple[str, Any] | None:
        """Returns a name for the table whose schema this one must have, and the schema."""
        context, rule = self._context, self._rule
        if rule.schema_file:
            try:
                with self._open(rule.schema_file) as table:
                    return rule.schema_file, table.schema
            except NotFound as error:
                raise UnreadableTable(
                    f"the file of its schema is missing: {error.message}"
                ) from error
        if not rule.schema_unchanged or context.base is None:
            return None
        earlier = self._earlier(path, context.base)
        if earlier is None:
            return None
        with self._open(earlier, context.base) as table:
            return f"{earlier} on {_short(context.base)}", table.schema

    def _earlier(self, path: str, base: str) -> str | None:
        """Returns the path of the table before the event; if it is new, that of the first table of
        the rule, None if there was none.
        """
        try:
            return self._context.lake.stat(base, path).path
        except NotFound:
            first = next(files_at(self._context, base, self._rule.path), None)
            return None if first is None else first.path

    def _check_cells(self, path: str, table: TableFile, missing: set[str]) -> None:
        """Adds the first null and the first value out of bounds of each column."""
        rule = self._rule
        required = dict.fromkeys((*rule.not_null, *rule.unique))
        nulls = [name for name in required if name not in missing]
        ranges = {}
        for name, bounds in rule.ranges.items():
            if name in missing:
                continue
            try:
                ranges[name] = RangeRule(bounds, table.schema.field(name).type)
            except Misfit as error:
                self._problems.add(f"{path}: the range of column {name}: {error}")
        row = 0
        columns = list(dict.fromkeys((*nulls, *ranges)))
        for batch in table.batches(columns) if columns else ():
            for name in tuple(nulls):
                at = first_null(batch.column(name))
                if at is not None:
                    nulls.remove(name)
                    self._problems.add(
                        f"{path}, row {row + at + 1}: column {name} is null: give it a value"
                    )
            for name, within in tuple(ranges.items()):
                at = within.first_outside(batch.column(name))
                if at is not None:
                    del ranges[name]
                    (value,) = json_column(batch.column(name).slice(at, 1))
                    self._problems.add(
                        f"{path}, row {row + at + 1}: column {name} is {value!r}, outside of "
                        f"{_in_words(rule, name)}"
                    )
            row += batch.num_rows
        for repair in table.repairs():
            self._problems.add(f"{path}: {repair}")

    def _check_group(self, paths: Sequence[str]) -> None:
        """Checks the number of rows and the keys of one or several files."""
        rule = self._rule
        name = paths[0] if len(paths) == 1 else f"{rule.path} ({len(paths)} files)"
        try:
            if rule.rows.min is not None or rule.rows.max is not None:
                self._check_rows(name, paths)
            if rule.unique and paths:
                self._check_unique(paths)
        except UnreadableTable as error:
            self._problems.add(f"{name}: {error}")

    def _check_rows(self, name: str, paths: Sequence[str]) -> None:
        count = 0
        for path in paths:
            with self._open(path) as table:
                count += table.count_rows()
        low, high = self._rule.rows.min, self._rule.rows.max
        if isinstance(low, int) and count < low:
            self._problems.add(f"{name} has {count} rows, fewer than {low}: complete it")
        if isinstance(high, int) and count > high:
            self._problems.add(f"{name} has {count} rows, more than {high}: divide it")

    def _check_unique(self, paths: Sequence[str]) -> None:
        from anabranch.actions.hooks.checks.tables.unique_keys import (  # noqa: PLC0415  its library
            first_repeated,
        )

        columns = self._rule.unique
        repeated = first_repeated(columns, lambda: self._keys(paths))
        if repeated is None:
            return
        values = ", ".join(
            f"{name}={value!r}" for name, value in zip(columns, repeated.key, strict=True)
        )
        (one, first), (two, last) = repeated.first, repeated.last
        other = "" if one == two else f"{paths[one]}, "
        self._problems.add(
            f"{paths[two]}, row {last + 1}: the key {values} is also in {other}row {first + 1}: "
            "remove one of them"
        )

    def _keys(self, paths: Sequence[str]) -> Iterator[tuple[int, Any]]:
        expected = None
        for number, path in enumerate(paths):
            with self._open(path) as table:
                names = [name for name in self._rule.unique if name in table.schema.names]
                types = [table.schema.field(name).type for name in names]
                expected = expected or types
                if types != expected or len(names) < len(self._rule.unique):
                    raise UnreadableTable(f"the columns of the key in {path} and {paths[0]} differ")
                for batch in table.batches(names):
                    yield number, batch

    @contextmanager
    def _open(self, path: str, reference: str = "") -> Iterator[TableFile]:
        lake = self._context.lake
        with closing(lake.read(reference or self._context.reference, path)) as stream:
            yield open_table_file(stream, path, self._rule.format)


def _short(reference: str) -> str:
    """Returns a reference for people: of a commit's id the beginning."""
    is_commit = len(reference) == _ID_CHARS and set(reference) <= set(string.hexdigits)
    return reference[:_SHORT_ID_CHARS] if is_commit else reference


def _in_words(rule: TableRule, name: str) -> str:
    bounds = rule.ranges[name]
    if bounds.min is None:
        return f"the range up to {bounds.max}"
    return f"the range from {bounds.min}" + ("" if bounds.max is None else f" to {bounds.max}")
