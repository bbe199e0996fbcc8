"""Rules for branches by pattern, which the server replaces all at once.

Each change is therefore conditional on the ETag that was read, and is repeated if another client
changed the rules in between.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from anabranch.cli.errors import Failure
from anabranch.cli.framework.address import repository_address
from anabranch.cli.framework.command import Argument
from anabranch.cli.framework.context import CommandContext

__all__ = ["PATTERN", "REPOSITORY", "BranchRules", "Rules"]

REPOSITORY = Argument("REPOSITORY", "The repository: lakefs://REPOSITORY", parse=repository_address)
PATTERN = Argument("PATTERN", "The branches: a name, or a pattern with * and ?")

Rules = list[dict[str, Any]]
"""Rules as the server sends them."""

_TRIES = 5
_CHANGED_MEANWHILE = 412


class BranchRules(NamedTuple):
    """The rules of a setting of a repository, and the command that lists and changes them."""

    setting: str
    command: str

    def read(self, context: CommandContext) -> Rules:
        """Returns the rules."""
        rules: Rules = context.connection.get(*self._path(context))
        return rules

    def change(self, context: CommandContext, changed: Callable[[Rules], Rules]) -> None:
        """Replaces the rules by what a function makes of them, which may be called again."""
        path = self._path(context)
        for attempt in range(1, _TRIES + 1):
            rules, tag = context.connection.get_tagged(*path)
            try:
                context.connection.send("PUT", *path, body=changed(rules), if_match=tag)
            except Failure as failure:
                if failure.status != _CHANGED_MEANWHILE or attempt == _TRIES:
                    raise
            else:
                return

    def delete(self, context: CommandContext) -> str:
        """Removes the rule of the argument `pattern`, and returns that. Raises Failure if there is
        none.
        """
        pattern: str = context.arguments.pattern

        def without(rules: Rules) -> Rules:
            remaining = [rule for rule in rules if rule["pattern"] != pattern]
            if len(remaining) == len(rules):
                raise Failure(
                    f"the rule {pattern!r} does not exist",
                    kind="not_found",
                    hint=f"`anabranch {self.command} list` shows the rules.",
                )
            return remaining

        self.change(context, without)
        return pattern

    def _path(self, context: CommandContext) -> tuple[str, ...]:
        repository: str = context.arguments.repository.repository
        return "repositories", repository, "settings", self.setting
