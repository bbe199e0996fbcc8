"""Functions in SQL that return tables: `FROM objects('repository', 'reference')`.

Each one is a macro of DuckDB that selects from a relation named after the function and its
arguments. So DuckDB finds the functions wherever a statement may have a table (joins, subqueries,
common table expressions, views), and evaluates constant arguments. A relation that a statement
misses is opened, and the statement is bound again: nothing of it has been executed by then.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Sequence
from typing import Any, Protocol, runtime_checkable

import msgspec

from anabranch.pipelines.queries.functions.call_errors import (
    CallError,
    explain_missing,
    explain_permission,
)
from anabranch.pipelines.queries.functions.lake_relations import LakeRelations
from anabranch.pipelines.queries.functions.plan_conditions import conditions_in_plan
from anabranch.tables.lake_table import LakeTable
from anabranch.tables.sql_names import identifier

__all__ = ["TableFunction", "TableFunctions", "View"]

_MAX_RELATIONS = 100
_MISSING = re.compile(r"Table with name function:(\w+)((?::(?:[0-9A-F]{2})*)+) does not exist")
_NOT_CONSTANT = re.compile(r'Table function "query_table"|Table function cannot contain subqueries')
_WRONG_ARGUMENTS = re.compile(
    r"Macro (\w+)\(\) does not support|Cannot use NULL as function argument"
)


@runtime_checkable
class View(Protocol):
    """What creates a view of its rows."""

    def create(self, name: str) -> None:
        """Creates the view `name`."""


class TableFunction(msgspec.Struct, frozen=True):
    """A function of SQL. `open` returns the relation for its arguments, which are texts: an Arrow
    table, a `Relation`, whose rows are read when they are needed, a `LakeTable`, or a
    `View`. Arguments after `required` ones may be left out, or named as in `prefix :=
    'a/'`; they are empty texts then. If `in_json`, the first argument is passed on as JSON: it may
    be a list.
    """

    name: str
    required: tuple[str, ...]
    open: Callable[..., Any]
    optional: tuple[str, ...] = ()
    in_json: bool = False

    @property
    def signature(self) -> str:
        """How it is called: `objects('repository', 'reference' [, prefix := ''])`."""
        required = ", ".join(f"'{name}'" for name in self.required)
        optional = "".join(f" [, {name} := '']" for name in self.optional)
        return f"{self.name}({required}{optional})"


class TableFunctions:
    """The table functions of a DuckDB connection."""

    def __init__(self, connection: Any, functions: Sequence[TableFunction]) -> None:
        self._connection = connection
        self._functions = {function.name: function for function in functions}
        self._relations: dict[str, Any] = {}
        self._lake_tables = LakeRelations(connection)
        for function in functions:
            connection.execute(_macro(function))

    def execute(self, statement: Any) -> Any:
        """Executes a statement, and returns its cursor. Raises CallError for a wrong call of a
        function, and what DuckDB and `open` raise.
        """
        return self._bound(self._connection.execute, statement)

    def relation(self, statement: Any) -> Any:
        """Returns the relation of a statement, whose rows are not computed yet, None for a
        statement without rows. Raises what `execute` raises.
        """
        return self._bound(self._connection.sql, statement)

    def _bound(self, run: Callable[[Any], Any], statement: Any) -> Any:
        import duckdb  # noqa: PLC0415  optional

        while True:
            try:
                self._lake_tables.prepare(statement)
                self._push_down(statement)
                return run(statement)
            except duckdb.CatalogException as error:
                missing = _MISSING.search(str(error))
                explain_missing(str(error))
                if missing is None or missing[1] not in self._functions:
                    raise
            except duckdb.BinderException as error:
                self._explain(str(error))
                raise
            except duckdb.PermissionException as error:
                explain_permission(str(error))
                raise
            self._register(missing[1], missing[2])

    def _push_down(self, statement: Any) -> None:
        """Passes the conditions on maps to the relation that a statement scans, if it is one."""
        import duckdb  # noqa: PLC0415

        if not self._relations:
            return
        conditions = []
        if statement.type == duckdb.StatementType.SELECT:
            explain = f"EXPLAIN (FORMAT json) {statement.query}"
            with contextlib.suppress(duckdb.Error):  # which executing the statement raises again
                conditions = conditions_in_plan(self._connection.execute(explain).fetchone()[1])
        for relation in self._relations.values():
            if hasattr(relation, "conditions"):
                relation.conditions = conditions

    def _register(self, name: str, suffix: str) -> None:
        if len(self._relations) == _MAX_RELATIONS:
            raise CallError(
                f"more than {_MAX_RELATIONS} different calls of table functions",
                "Arguments are constants; with random() each call would be another one.",
            )
        relation = f"function:{name}{suffix}"
        try:
            arguments = [bytes.fromhex(text).decode() for text in suffix[1:].split(":")]
        except UnicodeDecodeError:
            raise CallError(f"an argument of {name}() is not UTF-8", self._hint()) from None
        opened = self._functions[name].open(*arguments)
        if isinstance(opened, LakeTable):
            self._lake_tables.add(relation, opened)
        elif isinstance(opened, View):
            opened.create(relation)
        else:
            self._connection.register(relation, opened)
        self._relations[relation] = opened

    def _explain(self, message: str) -> None:
        """Raises CallError if an error of DuckDB is about the call of a function."""
        line = message.partition("\nLINE ")[2]
        named = [name for name in self._functions if re.search(rf"\b{name}\b", line, re.IGNORECASE)]
        if not named:
            return
        if _NOT_CONSTANT.search(message):
            raise CallError(
                f"the arguments of {named[0]}() must be constants, not columns or subqueries",
                self._hint_for(named[0]),
            )
        if _WRONG_ARGUMENTS.search(message):
            raise CallError(f"wrong arguments of {named[0]}()", self._hint_for(named[0]))

    def _hint_for(self, name: str) -> str:
        function = self._functions[name]
        if not function.in_json:
            return self._hint()
        return (
            f"Call it as {function.signature}: it finds the dialect of text and the types in the "
            "files, joins files by the names of columns, and takes folders such as day=1/ for "
            "columns unless files have them."
        )

    def _hint(self) -> str:
        shown = (each for each in self._functions.values() if not each.in_json)
        signatures = ", ".join(function.signature for function in shown)
        return f"The functions are {signatures}."


def _macro(function: TableFunction) -> str:
    names = [*function.required, *function.optional]
    parameters = [identifier(name) for name in function.required]
    parameters += [f"{identifier(name)} := ''" for name in function.optional]
    values = [f"CAST({identifier(name)} AS VARCHAR)" for name in names]
    if function.in_json:
        values[0] = f"CAST(to_json({identifier(names[0])}) AS VARCHAR)"
    arguments = "".join(f" || ':' || hex({value})" for value in values)
    return (
        f"CREATE MACRO {function.name}({', '.join(parameters)}) AS TABLE "
        f"FROM query_table('function:{function.name}'{arguments})"
    )
