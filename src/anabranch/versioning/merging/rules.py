"""Rules of a merge: which strategy settles the conflict of a path.

The request's resolutions come first, then the rules of the destination's file `_lakefs_merge.yaml`,
then the strategy of the whole merge. Of each list, the first rule whose pattern matches counts.
Without any of them, tables and namespaces of the Iceberg catalog are merged.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import msgspec

from anabranch.errors import AnabranchError, Conflict, Invalid
from anabranch.model.objects.entry import Entry
from anabranch.model.tables.table_record import NAMESPACE_FILE, RECORDS_ROOT, TABLE_FILE
from anabranch.patterns.path_patterns import path_pattern
from anabranch.versioning.merging.content_rights import NO_CONTENT, ContentRights
from anabranch.versioning.strategies.registry import PATH_STRATEGIES, make_strategy

__all__ = [
    "CATALOG_RULES",
    "NO_RULES",
    "OBJECT",
    "MergeRules",
    "Rule",
    "Strategy",
    "Versions",
    "check_strategy",
    "outdated",
    "require_versions",
]

Strategy = Literal["", "source-wins", "dest-wins"]

OBJECT = "physical_address"
"""What reports of a merge name as the strategy of a path that gets a given object."""


Versions = Mapping[str, str | None]
"""What tells the versions of a path in conflict from others, by side; None where there is none."""


class Rule(msgspec.Struct, frozen=True, kw_only=True):
    """A strategy, by name and with its options, for the paths that match a pattern; or the object
    that a path becomes. A rule with `versions` is for one path while it has these.
    """

    path: str
    strategy: str
    options: Mapping[str, Any] = {}
    entry: Entry | None = None
    versions: Versions | None = None

    @classmethod
    def of(
        cls,
        path: str,
        strategy: str,
        options: Mapping[str, Any],
        versions: Versions | None = None,
    ) -> Rule:
        """Returns a rule; with `versions`, it is for a single path. Raises Invalid for a pattern
        that is too long, an unknown strategy and wrong options, and for choices without versions;
        NotSupported if a library is not installed.
        """
        path_pattern(path)
        make_strategy(strategy, options)
        if "choices" in options and strategy == "rows" and versions is None:
            raise Invalid(
                "choices for rows need the versions that they are for",
                kind="invalid_merge_options",
                hint="Send `versions` of the listing of rows in conflict with the choices.",
            )
        if versions is not None and strategy in PATH_STRATEGIES:
            raise Invalid(
                f"the strategy {strategy} reads no content, so it has no versions",
                kind="invalid_merge_options",
            )
        return cls(path=path, strategy=strategy, options=options, versions=versions)

    @classmethod
    def for_object(cls, path: str, entry: Entry) -> Rule:
        """Returns the rule that a path becomes an object."""
        return cls(path=path, strategy=OBJECT, entry=entry)

    @property
    def reads_content(self) -> bool:
        """Whether the strategy reads objects."""
        return self.entry is None and self.strategy not in PATH_STRATEGIES

    def matches(self, path: str) -> bool:
        """Returns whether the rule is for a path."""
        if self.entry is not None or self.versions is not None:
            return path == self.path
        return path_pattern(self.path).matches(path)


class MergeRules(msgspec.Struct, frozen=True):
    """The rules of a merge, in order, the strategy for all other paths, and the rights of the
    caller, with which all rules act, those of a file as well.
    """

    rules: Sequence[Rule] = ()
    strategy: Strategy = ""
    rights: ContentRights = NO_CONTENT

    def followed_by(self, rules: Sequence[Rule]) -> MergeRules:
        """Returns these rules with others after them, but before the strategy for all paths."""
        return msgspec.structs.replace(self, rules=(*self.rules, *rules)) if rules else self

    def find(self, path: str) -> Rule | None:
        """Returns the first rule that matches a path, or that of the strategy for all paths; None
        if there is none.
        """
        for rule in self.rules:
            if rule.matches(path):
                return rule
        return _RULES_FOR_ALL.get(self.strategy)

    @property
    def objects(self) -> Sequence[Entry]:
        """The objects that rules name."""
        return [rule.entry for rule in self.rules if rule.entry is not None]


NO_RULES = MergeRules()

CATALOG_RULES = (
    Rule(path=f"{RECORDS_ROOT}**/{TABLE_FILE}", strategy="iceberg"),
    Rule(path=f"{RECORDS_ROOT}**/{NAMESPACE_FILE}", strategy="json"),
)
"""The rules for tables and namespaces of the Iceberg catalog, after all others."""

_RULES_FOR_ALL = {
    strategy: Rule(path="**", strategy=strategy) for strategy in ("source-wins", "dest-wins")
}


def require_versions(path: str, known: Versions, found: Versions) -> None:
    """Raises Conflict if the versions of a path in conflict are not those that are known."""
    changed = [side for side in found if found[side] != known.get(side)]
    if changed:
        sides = " and the ".join({"base": "merge base"}.get(side, side) for side in changed)
        raise outdated(f"the {sides} of {path!r} changed since")


def outdated(reason: str) -> Conflict:
    """Returns the error for choices that were made for other versions than there are."""
    return Conflict(
        f"the choices for rows are outdated: {reason}",
        kind="outdated_choices",
        hint="List the rows in conflict again, and choose for each of them.",
    )


def check_strategy(text: str) -> Strategy:
    """Returns the strategy for all paths that has this name. Raises Invalid if there is none."""
    for strategy in ("", "source-wins", "dest-wins"):
        if text == strategy:
            return strategy
    hint = f"Use source-wins, dest-wins or no strategy, not {text!r}."
    if _is_strategy(text):
        hint = f"{text} can settle single paths: give it in `resolutions` or in _lakefs_merge.yaml."
    raise Invalid(
        "argument strategy: invalid value: validation error", kind="invalid_strategy", hint=hint
    )


def _is_strategy(text: str) -> bool:
    try:
        make_strategy(text, {})
    except AnabranchError as error:
        return error.kind != "invalid_strategy"
    return True
