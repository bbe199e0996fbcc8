"""Settles the conflicts of a merge by its rules.

Strategies read objects and write files of this machine; nothing is stored here. A strategy that
fails leaves its conflict open, with the reason. So does a rule that needs a right which the caller
of the merge does not have: all rules pass through here, and act with the caller's rights. To take
the version of a side needs none, as for paths without a conflict. For the rules of the Iceberg
catalog, which make what a commit of the table could make, rights to the table suffice.
"""

from __future__ import annotations

import logging
import tempfile
from collections.abc import Hashable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from anabranch import errors
from anabranch.errors import AnabranchError, Invalid, NotSupported
from anabranch.model.commits.conflict import OpenConflict, Settled
from anabranch.outbound.address_guard import AddressGuard
from anabranch.versioning.merging.conflict_view import ConflictView
from anabranch.versioning.merging.conflicts import Conflict, MergeTrees
from anabranch.versioning.merging.content_rights import ContentRights
from anabranch.versioning.merging.rules import CATALOG_RULES, MergeRules, Rule, require_versions
from anabranch.versioning.merging.strategy_output import Outcome, StrategyOutput
from anabranch.versioning.merging.table_files import TableFiles
from anabranch.versioning.records.entries import entry_value
from anabranch.versioning.strategies.contract import TIMED_OUT, ContentConflict, Side
from anabranch.versioning.strategies.registry import make_strategy
from anabranch.versioning.strategies.table_processes.table_processes import TableProcesses

__all__ = ["MAX_CONFLICTS", "MAX_DETAILS", "Settlement", "Settler"]

MAX_CONFLICTS = 1000
"""How many conflicts that stay open are reported."""

MAX_DETAILS = 1000
"""How many conflicts of the content of one object are reported."""

_PAGE_SIZE = 10_000
_SIDES: dict[str, Side] = {"source-wins": "source", "dest-wins": "destination", "base": "base"}

_log = logging.getLogger(__name__)


class _Applied(NamedTuple):
    """What a rule makes of paths, and the new files of tables, by area and path."""

    outcomes: Mapping[str, Outcome]
    table_files: Mapping[tuple[str, str], Path] = {}


class Settlement:
    """The outcomes by path, and the conflicts that are open: the first MAX_CONFLICTS of them, and
    their number. `settled` are the conflicts that were settled, `table_files` the new files of
    tables of the Iceberg catalog, by area and path.
    """

    def __init__(self) -> None:
        self.outcomes: dict[str, Outcome] = {}
        self.table_files: dict[tuple[str, str], Path] = {}
        self.settled: list[Settled] = []
        self.conflicts: list[OpenConflict] = []
        self.conflict_count = 0
        self.chosen: set[str] = set()
        """The paths in conflict whose rules are for certain versions."""

    def leave_open(self, conflict: OpenConflict) -> None:
        """Adds a conflict that is not settled."""
        self.conflict_count += 1
        if len(self.conflicts) < MAX_CONFLICTS:
            self.conflicts.append(conflict)

    @property
    def has_more(self) -> bool:
        """Whether more conflicts are open than are reported."""
        return self.conflict_count > len(self.conflicts)


class Settler:
    """Settles conflicts. `folder` is for new content, which stays there; `guard` decides where
    webhooks may lead; `processes` merge tables.

    The outcome of a strategy is reused as long as the three versions of the object are the same: a
    merge is repeated if its destination has moved. A strategy that has timed out is not asked
    again, since each of many conflicts would take as long.
    """

    def __init__(self, folder: Path, guard: AddressGuard, processes: TableProcesses) -> None:
        self._folder = folder
        self._guard = guard
        self._processes = processes
        self._known: dict[Hashable, Outcome] = {}
        self._timed_out: dict[Hashable, str] = {}

    def settle(self, trees: MergeTrees, rules: MergeRules, *, to_the_end: bool) -> Settlement:
        """Settles the conflicts of three trees: all, or `to_the_end` apart, as long as those that
        stay open can be reported. With one more, the settlement `has_more`, and is not complete.
        Raises Conflict (kind outdated_choices) for a rule that is for other versions of a path.
        """
        settlement = Settlement()
        after, has_more, amount = "", True, MAX_CONFLICTS + 1
        while has_more:
            found, has_more = trees.conflicts(after=after, amount=amount)
            amount = _PAGE_SIZE
            for conflict in found:
                after = conflict.path
                self._settle(trees, conflict, rules, settlement)
                if settlement.has_more and not to_the_end:
                    return settlement
        return settlement

    def _settle(
        self, trees: MergeTrees, conflict: Conflict, rules: MergeRules, settlement: Settlement
    ) -> None:
        path = conflict.path
        rule = rules.find(path)
        if rule is None or rule.strategy == "fail":
            settlement.leave_open(trees.report(conflict))
            return
        if rule.versions is not None:
            require_versions(path, rule.versions, trees.versions(conflict))
            settlement.chosen.add(path)
        if path not in settlement.outcomes:  # else settled with another path of the same table
            # the catalog's own, and no rule of others that equals one
            is_own = any(rule is each for each in CATALOG_RULES)
            rights = rules.rights.on_tables if is_own else rules.rights
            applied = self._apply(trees, conflict, rule, rights)
            if isinstance(applied, OpenConflict):
                settlement.leave_open(applied)
                return
            settlement.outcomes.update(applied.outcomes)
            settlement.table_files.update(applied.table_files)
        settlement.settled.append(Settled(path, rule.strategy))

    def _apply(
        self, trees: MergeTrees, conflict: Conflict, rule: Rule, rights: ContentRights
    ) -> _Applied | OpenConflict:
        """Applies a rule with the caller's rights; returns what it makes of paths, or the conflict
        with the reason why it stays open.
        """
        path = conflict.path
        if not rule.reads_content:
            applied = _Applied({path: _outcome(conflict, rule)})
        elif rights.may_read(path):
            asked = self._ask(trees, conflict, rule, rights)
            if isinstance(asked, OpenConflict):
                return asked
            applied = asked
        else:
            return trees.report(conflict, rule.strategy, "you may not read the object")
        table_files = TableFiles(trees.blocks, trees.repository)
        for area in {area for area, _ in applied.table_files}:
            if not table_files.may_write(area, rights):
                return trees.report(conflict, rule.strategy, "you may not write to the table")
        for changed, outcome in applied.outcomes.items():
            is_own = changed == path
            sides = (
                (conflict.source, conflict.destination)
                if is_own
                else (trees.get("source", changed), trees.get("destination", changed))
            )
            # everything but the version of a side is written, or deleted, by the caller
            may_become = rights.may_delete if outcome is None else rights.may_write
            if outcome not in sides and not may_become(changed):
                what = "the object" if is_own else "another object of the result"
                verb = "delete" if outcome is None else "write"
                return trees.report(conflict, rule.strategy, f"you may not {verb} {what}")
        return applied

    def _ask(
        self, trees: MergeTrees, conflict: Conflict, rule: Rule, rights: ContentRights
    ) -> _Applied | OpenConflict:
        """Asks a strategy; returns what it makes of paths, or the conflict with the reason why it
        stays open.
        """
        path = conflict.path
        key = conflict, rule.strategy, repr(rule.options)
        if key in self._known:
            return _Applied({path: self._known[key]})
        asked = key[1:]
        if asked in self._timed_out:
            reason = f"the strategy was not asked, since it timed out for {self._timed_out[asked]}"
            return trees.report(conflict, rule.strategy, reason)
        output = StrategyOutput(trees, self._folder)
        reason = ""
        details: Sequence[ContentConflict] = ()
        with tempfile.TemporaryDirectory(dir=self._folder) as folder:
            view = ConflictView(trees, path, Path(folder), rights)
            try:
                details = self._merge(view, output, rule)
            except (errors.Conflict, Invalid, NotSupported) as error:
                reason = f"{error.message} ({error.hint})" if error.hint else error.message
                if error.kind == TIMED_OUT:
                    self._timed_out[asked] = path
            except AnabranchError:
                raise  # not the strategy's fault: an object is lost, the store is busy
            except Exception as error:  # noqa: BLE001  of a library that reads the content
                _log.exception("the merge strategy %s failed for %s", rule.strategy, path)
                reason = f"the strategy failed: {type(error).__name__}: {error}"
        if reason or details:
            return trees.report(conflict, rule.strategy, reason, details[:MAX_DETAILS])
        if len(output.outcomes) == 1 and not view.reads_others:
            self._known[key] = output.outcomes[path]
        return _Applied(output.outcomes, output.table_files)

    def _merge(
        self, view: ConflictView, output: StrategyOutput, rule: Rule
    ) -> Sequence[ContentConflict]:
        """Calls the strategy of a rule. Raises Conflict for a result that is none."""
        strategy = make_strategy(rule.strategy, rule.options, self._guard, self._processes)
        if strategy is None:
            return ()
        details = list(strategy.merge(view, output))
        if not all(isinstance(detail, ContentConflict) for detail in details):
            raise errors.Conflict("the strategy returned something else than conflicts")
        if not details and view.path not in output.outcomes:
            raise errors.Conflict("the strategy neither settled the path nor returned conflicts")
        return details


def _outcome(conflict: Conflict, rule: Rule) -> Outcome:
    """Returns what becomes of a path by a rule that needs no content."""
    if rule.entry is not None:
        return entry_value(rule.entry)
    side = _SIDES.get(rule.strategy)
    return None if side is None else conflict.value(side)
