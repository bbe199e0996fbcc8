"""Merges that no person decides on: by the keys of a workspace, where a setting lets them through.

    staging-*                   branches that a workspace's keys may merge into
    main=schema+row-counts      only if the branch has these actions, which run before each merge

Without a rule for a branch, people merge into it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from anabranch.actions.engine import Engine
from anabranch.actions.files.events import EventType
from anabranch.errors import Denied, Invalid
from anabranch.model.repositories.repository import Repository
from anabranch.patterns.branch_pattern import branch_pattern
from anabranch.versioning.core import Core
from anabranch.versioning.references.references import Resolved

__all__ = ["AutoMergeRule", "parse_auto_merge", "require_unattended"]


class AutoMergeRule(msgspec.Struct, frozen=True):
    """A pattern of branches that workspaces may be merged into unattended, and the names of the
    actions that must run before.
    """

    pattern: str
    checks: tuple[str, ...] = ()


def parse_auto_merge(texts: Iterable[str]) -> tuple[AutoMergeRule, ...]:
    """Returns the rules of a setting. Raises Invalid for a text that is none."""
    rules = []
    for text in texts:
        pattern, equals, names = text.partition("=")
        checks = tuple(name.strip() for name in names.split("+")) if equals else ()
        if not pattern or not all(checks):
            raise Invalid(
                f"{text!r} is no rule for unattended merges",
                kind="invalid_auto_merge",
                hint="Write PATTERN, or PATTERN=ACTION+ACTION.",
            )
        branch_pattern(pattern)
        rules.append(AutoMergeRule(pattern, checks))
    return tuple(rules)


def require_unattended(
    core: Core,
    engine: Engine,
    repository: Repository,
    destination: str,
    rules: Sequence[AutoMergeRule],
) -> None:
    """Raises Denied unless a rule lets merges into a branch through whose required actions are all
    among those that run before a merge into it.
    """
    matching = [each for each in rules if branch_pattern(each.pattern).matches(destination)]
    head = core.branches.read(repository, destination).branch.commit_id
    actions = (
        engine.files.read(repository, Resolved(head)) if any(r.checks for r in matching) else ()
    )
    present = {each.name for each in actions if each.runs_on(EventType.PRE_MERGE, destination)}
    if not engine.settings.enabled:
        present = set()
    for rule in matching:
        if present.issuperset(rule.checks):
            return
    missing = sorted({check for rule in matching for check in rule.checks} - present)
    raise Denied(
        f"merges into {destination} need a person",
        kind="merge_needs_a_person",
        hint=f"Before a merge into it, these actions do not run: {', '.join(missing)}."
        if missing
        else "Propose it; workspaces.auto_merge names the branches that need none.",
    )
