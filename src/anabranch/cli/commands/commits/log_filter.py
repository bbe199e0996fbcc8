"""Filters of `log` on what a commit says, which the server does not apply."""

from __future__ import annotations

import datetime as dt
from argparse import Namespace
from collections.abc import Mapping
from typing import Any, NamedTuple

from anabranch.cli.framework.metadata import META, pairs

__all__ = ["META_FILTER", "CommitFilter"]

META_FILTER = META._replace(help="Show only commits with this metadata")


class CommitFilter(NamedTuple):
    """Which commits are shown. Texts are compared without regard to case; `until` is in seconds
    since 1970.
    """

    no_merges: bool
    until: float | None
    committer: str
    message: str
    metadata: Mapping[str, str]

    @classmethod
    def of(cls, options: Namespace) -> CommitFilter:
        """Returns the filter that the options of `log` describe."""
        until = options.until and dt.datetime.fromisoformat(options.until).timestamp()
        return cls(
            options.no_merges,
            until,
            (options.committer or "").casefold(),
            (options.message or "").casefold(),
            pairs(options.meta),
        )

    @property
    def leaves_out(self) -> bool:
        """Whether any commit may be left out."""
        return self.no_merges or self.until is not None or any(self[2:])

    def shows(self, commit: Mapping[str, Any]) -> bool:
        """Returns whether a commit is shown."""
        metadata = commit.get("metadata") or {}
        return (
            not (self.no_merges and len(commit["parents"]) > 1)
            and (self.until is None or commit["creation_date"] <= self.until)
            and self.committer in commit["committer"].casefold()
            and self.message in commit["message"].casefold()
            and all(metadata.get(key) == value for key, value in self.metadata.items())
        )
