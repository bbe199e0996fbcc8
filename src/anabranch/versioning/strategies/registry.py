"""The merge strategies by name.

Those of Anabranch are loaded when they are first used, since some need libraries that the core
installation does not have. Installed packages add strategies by entry points of the group
`anabranch.merge_strategies`, which name a StrategyFactory.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any

from anabranch.errors import Invalid
from anabranch.outbound.address_guard import AddressGuard
from anabranch.versioning.strategies.contract import MergeStrategy, StrategyFactory
from anabranch.versioning.strategies.table_processes.process_strategy import ProcessStrategy
from anabranch.versioning.strategies.table_processes.table_processes import TableProcesses
from anabranch.versioning.strategies.user_defined import UserDefinedStrategy
from anabranch.versioning.strategies.webhook import WebhookStrategy

__all__ = ["ENTRY_POINT_GROUP", "PATH_STRATEGIES", "make_strategy", "strategy_names"]

ENTRY_POINT_GROUP = "anabranch.merge_strategies"

PATH_STRATEGIES = ("source-wins", "dest-wins", "base", "delete", "fail")
"""Strategies that need no content: take one of the versions, delete the path, leave the conflict
open.
"""

_PUBLIC = AddressGuard()
_PROCESSES = TableProcesses()
_PACKAGE = "anabranch.versioning.strategies"
_BUILT_IN = {
    "rows": (f"{_PACKAGE}.rows.strategy", "rows_strategy"),
    "json": (f"{_PACKAGE}.json_document", "json_strategy"),
    "text": (f"{_PACKAGE}.text", "text_strategy"),
    "delta": (f"{_PACKAGE}.delta.strategy", "delta_strategy"),
    "iceberg": (f"{_PACKAGE}.iceberg.strategy", "iceberg_strategy"),
}
_OF_DOCUMENTS = frozenset({"json", "text"})


def strategy_names() -> list[str]:
    """Returns the names of all strategies."""
    installed = (point.name for point in entry_points(group=ENTRY_POINT_GROUP))
    return sorted({*PATH_STRATEGIES, *_BUILT_IN, "webhook", *installed})


def make_strategy(
    name: str,
    options: Mapping[str, Any],
    guard: AddressGuard = _PUBLIC,
    processes: TableProcesses = _PROCESSES,
) -> MergeStrategy | None:
    """Returns the strategy of that name, None if it is one of PATH_STRATEGIES. `guard` decides
    where webhooks may lead; `processes` merge all content but that of strategies of others.

    Raises Invalid (kind invalid_strategy) for an unknown name, Invalid (kind
    invalid_merge_options), and NotSupported if a library is not installed.
    """
    if name in PATH_STRATEGIES:
        if options:
            raise Invalid(
                f"the strategy {name} has no option {min(options)!r}", kind="invalid_merge_options"
            )
        return None
    if name == "webhook":
        return WebhookStrategy(options, guard)
    if name in _BUILT_IN:
        module, factory_name = _BUILT_IN[name]
        factory: StrategyFactory = getattr(import_module(module), factory_name)
        strategy = factory(options)  # also checks the options, and what is installed
        small = strategy if name in _OF_DOCUMENTS else None
        return ProcessStrategy(name, options, processes, small)
    if name in entry_points(group=ENTRY_POINT_GROUP).names:
        return UserDefinedStrategy(name, options)
    raise Invalid(
        f"unknown merge strategy {name!r}",
        kind="invalid_strategy",
        hint=f"Use one of {', '.join(strategy_names())}.",
    )
