"""Ends of branches by pattern: the lifetime that a repository gives to new branches by their names.

The first rule that matches a branch decides about it.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from anabranch.errors import Invalid
from anabranch.model.references.lifetime import parse_lifetime
from anabranch.patterns.glob import about_to_match, glob

__all__ = ["MAX_RULES", "NO_ENDS", "BranchEnd", "BranchEnds", "check_ends"]

MAX_RULES = 100


class BranchEnd(msgspec.Struct, frozen=True):
    """A rule: a new branch that matches the pattern ends after a lifetime such as `7d`, and is left
    out of listings if it is `hidden`.
    """

    pattern: str
    expires: str
    hidden: bool = False

    @property
    def seconds(self) -> int:
        """The lifetime, in seconds."""
        return parse_lifetime(self.expires)


class BranchEnds(msgspec.Struct, frozen=True):
    """A repository's rules, in order. `etag` identifies this version of them, and is empty if none
    were ever set.
    """

    rules: Sequence[BranchEnd]
    etag: str

    def of(self, branch: str) -> BranchEnd | None:
        """Returns the first rule that matches a branch, or None."""
        about_to_match([each.pattern for each in self.rules], branch)
        return next((each for each in self.rules if glob(each.pattern).matches(branch)), None)


NO_ENDS = BranchEnds((), "")


def check_ends(rules: Sequence[BranchEnd]) -> None:
    """Raises Invalid for a malformed pattern or lifetime, for a pattern that is there twice, and
    for too many rules.
    """
    if len(rules) > MAX_RULES:
        raise Invalid(
            f"a repository has at most {MAX_RULES} rules of ends, not {len(rules)}",
            kind="invalid_branch_ends",
        )
    seen = set()
    for each in rules:
        glob(each.pattern)
        parse_lifetime(each.expires)
        if not each.pattern or each.pattern in seen:
            raise Invalid(
                f"the pattern {each.pattern!r} is there twice" if each.pattern else "no pattern",
                kind="invalid_branch_ends",
                hint="Give each pattern one lifetime: the first rule that matches decides.",
            )
        seen.add(each.pattern)
