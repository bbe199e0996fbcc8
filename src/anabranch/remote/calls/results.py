"""How responses become results."""

from __future__ import annotations

import msgspec

from anabranch.errors import NotSupported
from anabranch.model.commits.change import Change
from anabranch.model.commits.commit import Commit
from anabranch.model.objects.stat import Stat
from anabranch.remote.call import Pagination, Reply, WirePage
from anabranch.remote.wire import WireCommit, WireDiff, WireObject

__all__ = ["change_page", "commit_result", "nothing", "refuse_committer", "stat_result"]

_COMMIT = msgspec.json.Decoder(WireCommit)
_OBJECT = msgspec.json.Decoder(WireObject)
_DIFFS = msgspec.json.Decoder(WirePage[WireDiff])


def nothing(_: Reply) -> None:
    """The result of a change that responds with a status alone."""


def commit_result(reply: Reply) -> Commit:
    """Returns the commit of a response."""
    return _COMMIT.decode(reply.body).commit()


def stat_result(reply: Reply) -> Stat:
    """Returns the object of a response."""
    return _OBJECT.decode(reply.body).stat()


def change_page(body: bytes) -> tuple[list[Change], Pagination]:
    """Returns the changes of a response."""
    page = _DIFFS.decode(body)
    return [each.change() for each in page.results], page.pagination


def refuse_committer(committer: str | None) -> None:
    """Raises NotSupported for a committer: on a server it is the user who sends the request."""
    if committer is not None:
        raise NotSupported(
            f"committer {committer!r}: the commits of a server are by the user of the credentials",
            kind="committer_not_supported",
            hint="Leave committer out, or connect with the credentials of that user.",
        )
