"""The tests of a running server that every change of what a server runs needs.

The command line, the server and its clients reach code only through processes: whether they start
and do a little says more than one test more of those that are near.
"""

from __future__ import annotations

from collections.abc import Sequence

from support.selection.ranking import Candidate, Nearness

__all__ = ["SMOKE", "with_smoke"]

SMOKE = ("tests/rest/test_smoke.py", "tests/s3/operations/test_directory_markers.py")
"""The published SDK, and boto3, each with a server over SQLite and a folder."""

_NOT_SERVED = ("cli", "spark", "testing", "client", "examples")


def with_smoke(ranked: Sequence[Candidate], changed: Sequence[str]) -> list[Candidate]:
    """Returns the candidates, the smoke tests behind the closest if a server runs what changed."""
    if not any(_is_served(path) for path in changed):
        return list(ranked)
    return sorted(
        candidate._replace(nearness=Nearness.SMOKE)
        if candidate.path in SMOKE and candidate.nearness > Nearness.SMOKE
        else candidate
        for candidate in ranked
    )


def _is_served(path: str) -> bool:
    parts = path.split("/")
    return parts[:2] == ["src", "anabranch"] and parts[2] not in _NOT_SERVED
