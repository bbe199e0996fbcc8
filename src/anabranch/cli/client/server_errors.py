"""Failures of the command line from the error responses of a server.

The server's own message is shown unchanged. The tables below add what the user can do about it.
The first match counts, so a message is looked up before its status.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from anabranch.cli.errors import Failure
from anabranch.client.error_responses import ErrorResponse
from anabranch.errors import OutcomeUnknown

__all__ = ["refusal", "unexpected_response"]


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
    ("required approval", _Meaning("approvals_missing")),
    ("without a pull request", _Meaning("pull_request_required")),
    ("cannot delete protected branch", _Meaning("pull_request_required")),
    (
        "protected branch",
        _Meaning("protected_branch", "Write to another branch and merge that one into it."),
    ),
    ("read-only repository", _Meaning("read_only_repository", "The repository cannot be changed.")),
    ("in deletion", _Meaning("gone", "It has been deleted, or is being deleted.")),
    ("not unique", _Meaning("already_exists", "The name is in use: choose another.")),
    ("holds no table", _Meaning("no_table")),
    ("default branch", _Meaning("denied", "The default branch cannot be deleted.")),
)

_BY_STATUS = {
    400: _Meaning("invalid"),
    401: _Meaning("unauthenticated", _LOGIN),
    403: _Meaning("denied", "Ask an administrator for the permission."),
    404: _Meaning("not_found"),
    409: _Meaning("conflict"),
    410: _Meaning("gone"),
    412: _Meaning("precondition_failed", "A hook or a condition rejected it; see the message."),
    416: _Meaning("range_not_satisfiable"),
    429: _Meaning("busy", "The server is busy: try again later."),
    500: _Meaning("server_error", "This is an error in the server; see its log."),
    501: _Meaning("not_supported", "This server does not support it."),
    502: _Meaning("unreachable", "A proxy answered, not the server: is the server running?"),
    503: _Meaning("busy", "The server is busy: try again later."),
    504: _Meaning("unreachable", "A proxy gave up waiting for the server."),
}


_OUTCOME_UNKNOWN = _Meaning(OutcomeUnknown.kind, OutcomeUnknown.hint)
"""Known by the kind that Anabranch sends: by its status it would be an error to repeat."""


def refusal(
    response: ErrorResponse, where: str, *, asked: Sequence[str] = (), keys: Sequence[str] = ()
) -> Failure:
    """Returns the failure that an error response stands for. The server's own hint is used where
    the tables have none for the message. It begins that of a denial or of a failed login: it says
    what is missing or wrong.
    """
    meaning = next((meaning for text, meaning in _BY_MESSAGE if text in response.message), None)
    if response.kind == OutcomeUnknown.kind:
        meaning = _OUTCOME_UNKNOWN
    hint = meaning.hint or response.hint if meaning is not None else response.hint
    if meaning is None:
        meaning = _BY_STATUS.get(response.status, _Meaning("error"))
    if meaning.kind in {"denied", "unauthenticated"} and meaning.hint:
        is_included = meaning.hint.startswith(response.hint.rstrip("."))
        hint = meaning.hint if is_included else f"{response.hint} {meaning.hint}"
    return Failure(
        response.message,
        kind=meaning.kind,
        hint=hint or meaning.hint,
        where=f"{where} (HTTP {response.status})",
        status=response.status,
        answer=response.document,
        asked=asked,
        keys=keys,
    )


def unexpected_response(status: int, where: str) -> Failure:
    """Returns the failure of a response that no lakeFS-compatible server gives."""
    return Failure(
        "the response is not that of a lakeFS-compatible server",
        kind="not_a_server",
        hint="Is the address right? `anabranch config show` tells where it comes from.",
        where=f"{where} (HTTP {status})",
        status=status,
    )
