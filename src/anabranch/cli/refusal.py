"""What a server's refusal means: from status and body to a `Failure` with a hint.

The server's own message is shown as it came. The tables below only add what a person can do
about it; the first that fits wins, so a message goes before its status.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

from anabranch.cli.failure import Failure

__all__ = ["refusal", "unexpected"]


class _Meaning(NamedTuple):
    kind: str
    hint: str = ""


_LOGIN = "Check the access key and its secret (`anabranch config show`), or run `anabranch login`."

_BY_MESSAGE = (
    ("insufficient permissions", _Meaning("denied", "Ask an administrator for the permission.")),
    ("no changes", _Meaning("no_changes", "Add --allow-empty-commit if you want an empty one.")),
    (
        "dirty branch",
        _Meaning("dirty_branch", "Commit the branch, or `anabranch branch reset` it."),
    ),
    (
        "protected branch",
        _Meaning("protected_branch", "Write to another branch and merge that one into it."),
    ),
    ("read-only repository", _Meaning("read_only_repository", "It takes no changes.")),
    ("in deletion", _Meaning("gone", "It has been deleted, or is being deleted.")),
    ("not unique", _Meaning("already_exists", "The name is taken: choose another.")),
    ("default branch", _Meaning("denied", "A repository cannot lose its default branch.")),
)

_BY_STATUS = {
    400: _Meaning("invalid"),
    401: _Meaning("unauthenticated", _LOGIN),
    403: _Meaning("denied", "Ask an administrator for the permission."),
    404: _Meaning("not_found"),
    409: _Meaning("conflict"),
    410: _Meaning("gone"),
    412: _Meaning("precondition_failed", "A hook or a condition refused it; see the message."),
    416: _Meaning("range_not_satisfiable"),
    429: _Meaning("busy", "The server is busy: try again later."),
    500: _Meaning("server_error", "This is a fault of the server: its log says more."),
    501: _Meaning("not_supported", "This server cannot do that."),
    502: _Meaning("unreachable", "A proxy answered, not the server: is the server running?"),
    503: _Meaning("busy", "The server is busy: try again later."),
    504: _Meaning("unreachable", "A proxy gave up waiting for the server."),
}


def refusal(
    status: int,
    body: bytes,
    where: str,
    *,
    hint: str = "",
    asked: Sequence[str] = (),
    keys: Sequence[str] = (),
) -> Failure:
    """Returns the failure that an answer with an error status stands for. `hint` is the server's
    own, which counts where the tables have none.
    """
    answer = _decoded(body)
    message = answer.get("message") if isinstance(answer, dict) else None
    if not isinstance(message, str) or not message:
        message = _without_message(status, body)
    meaning = next((meaning for words, meaning in _BY_MESSAGE if words in message), None)
    if meaning is None:
        meaning = _BY_STATUS.get(status, _Meaning("error"))
    return Failure(
        message,
        kind=meaning.kind,
        hint=meaning.hint or hint,
        where=f"{where} (HTTP {status})",
        status=status,
        answer=answer,
        asked=asked,
        keys=keys,
    )


def unexpected(status: int, where: str) -> Failure:
    """Returns the failure of an answer that no lakeFS-compatible server gives."""
    return Failure(
        "the answer is not that of a lakeFS-compatible server",
        kind="not_a_server",
        hint="Is the address right? `anabranch config show` tells where it comes from.",
        where=f"{where} (HTTP {status})",
        status=status,
    )


def _decoded(body: bytes) -> Any:
    try:
        return json.loads(body)
    except ValueError:
        return None


def _without_message(status: int, body: bytes) -> str:
    start = body.lstrip()[:200].lower()
    if start.startswith((b"<!doctype", b"<html", b"<?xml")):
        return "the answer is a page for browsers: this is not the address of the API"
    if status == 409:  # noqa: PLR2004
        return "conflict"
    return f"the server answered with status {status}"
