"""The strategy `webhook`: a service of the user's settles conflicts.

It gets a POST request with the path, the ids of the commits and the three versions as JSON, and
responds with one of: the strategy for this path, the merged content, or conflicts.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping, Sequence
from typing import Any, Literal, cast

import msgspec

from anabranch.errors import AnabranchError, Conflict, Invalid
from anabranch.outbound.address_guard import AddressGuard
from anabranch.outbound.http_request import HttpResponse, check_headers, check_url, send_request
from anabranch.versioning.strategies.contract import (
    TIMED_OUT,
    ContentConflict,
    MergeOutput,
    ObjectVersion,
    PathConflict,
    Side,
)

__all__ = ["MAX_CONTENT_BYTES", "MAX_TIMEOUT_SECONDS", "TIMEOUT_SECONDS", "WebhookStrategy"]

TIMEOUT_SECONDS = 60.0
MAX_TIMEOUT_SECONDS = 600.0
MAX_CONTENT_BYTES = 16 << 20
"""How many bytes all versions together have at most if their content is sent, and how many the
merged content may have.
"""

_MAX_RESPONSE_BYTES = 2 * MAX_CONTENT_BYTES
_MAX_MESSAGE_CHARS = 500
_OPTIONS = ("headers", "parameters", "timeout", "url")
_SIDES: Mapping[str, Side] = {
    "source-wins": "source",
    "dest-wins": "destination",
    "base": "base",
}


class _Answer(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The body of a response: one of `strategy`, `content` (base64) and `conflicts`."""

    strategy: Literal["source-wins", "dest-wins", "base", "delete"] | None = None
    content: str | None = None
    content_type: str | None = None
    user_metadata: dict[str, str] | None = None
    conflicts: list[ContentConflict] | None = None


_DECODER = msgspec.json.Decoder(_Answer)


class WebhookStrategy:
    """The strategy with these options: `url`, `headers`, `timeout` in seconds, and `parameters`,
    which the request has. Raises Invalid (kind invalid_merge_options) for wrong ones.
    """

    def __init__(self, options: Mapping[str, Any], guard: AddressGuard) -> None:
        unknown = sorted(options.keys() - set(_OPTIONS))
        if unknown:
            raise _invalid(f"the strategy webhook has no option {unknown[0]!r}")
        self._guard = guard
        self._url = _text(options, "url")
        self._headers = {
            "Content-Type": "application/json",
            **_headers(options.get("headers", {})),
        }
        self._timeout = _timeout(options.get("timeout", TIMEOUT_SECONDS))
        self._parameters = options.get("parameters")
        try:
            check_url(self._url)
            check_headers(self._headers)
        except Invalid as error:
            raise _invalid(f"the strategy webhook: {error.message}") from None

    def merge(self, conflict: PathConflict, output: MergeOutput) -> Sequence[ContentConflict]:
        """Asks the webhook. Raises Conflict if there is no valid response."""
        try:
            response = send_request(
                "POST",
                self._url,
                guard=self._guard,
                headers=self._headers,
                body=msgspec.json.encode(self._request(conflict)),
                timeout=self._timeout,
                max_response_bytes=_MAX_RESPONSE_BYTES,
            )
        except AnabranchError as error:
            timed_out = error.kind == "outbound_timeout"
            raise _failure(error.message, TIMED_OUT if timed_out else "merge_failed") from error
        answer = _read(response)
        if answer.conflicts is not None:
            return answer.conflicts
        if answer.strategy == "delete":
            output.delete(conflict.path)
        elif answer.strategy is not None:
            output.take(conflict.path, _SIDES[answer.strategy])
        else:
            given = {"content_type": answer.content_type, "metadata": answer.user_metadata}
            content = _decode(answer.content or "")
            with output.create(conflict.path, **cast(Any, given)) as stream:
                stream.write(content)
        return ()

    def _request(self, conflict: PathConflict) -> dict[str, Any]:
        versions = {
            "base": conflict.base,
            "source": conflict.source,
            "destination": conflict.destination,
        }
        size = sum(version.size for version in versions.values() if version is not None)
        is_sent = size <= MAX_CONTENT_BYTES
        return {
            "repository": conflict.repository,
            "path": conflict.path,
            "commits": dict(conflict.commits),
            "parameters": self._parameters,
            **{side: _version(version, is_sent) for side, version in versions.items()},
        }


def _version(version: ObjectVersion | None, is_sent: bool) -> dict[str, Any] | None:
    if version is None:
        return None
    content = None
    if is_sent:
        with version.open() as stream:
            content = base64.b64encode(stream.read()).decode()
    return {
        "size_bytes": version.size,
        "content_type": version.content_type,
        "user_metadata": dict(version.metadata),
        "content": content,
    }


def _read(response: HttpResponse) -> _Answer:
    if response.status != 200:  # noqa: PLR2004
        raise _failure(f"it responded with {response.status}{_message(response)}")
    if response.is_truncated:
        raise _failure(f"its response has more than {_MAX_RESPONSE_BYTES} bytes")
    try:
        answer = _DECODER.decode(response.body)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise _failure(f"its response is invalid: {error}") from error
    given = (answer.strategy, answer.content, answer.conflicts)
    if sum(each is not None for each in given) != 1 or answer.conflicts == []:
        raise _failure("its response needs one of `strategy`, `content` and `conflicts`")
    return answer


def _message(response: HttpResponse) -> str:
    """Returns the `message` of an error, as in responses of lakeFS."""
    try:
        message = msgspec.json.decode(response.body)["message"]
    except (msgspec.DecodeError, UnicodeError, RecursionError, LookupError, TypeError):
        return ""
    return f": {message[:_MAX_MESSAGE_CHARS]}" if isinstance(message, str) else ""


def _decode(content: str) -> bytes:
    try:
        decoded = base64.b64decode(content, validate=True)
    except (binascii.Error, ValueError) as error:
        raise _failure(f"the content of its response is not base64: {error}") from error
    if len(decoded) > MAX_CONTENT_BYTES:
        raise _failure(f"the content of its response has more than {MAX_CONTENT_BYTES} bytes")
    return decoded


def _text(options: Mapping[str, Any], name: str) -> str:
    value = options.get(name, "")
    if not isinstance(value, str) or not value:
        raise _invalid(f"option {name} of the strategy webhook: must be text that is not empty")
    return value


def _headers(value: Any) -> dict[str, str]:
    if not isinstance(value, dict) or not all(
        isinstance(part, str) for pair in value.items() for part in pair
    ):
        raise _invalid("option headers of the strategy webhook: must be names with texts")
    if any(name.lower() == "content-type" for name in value):
        raise _invalid("option headers of the strategy webhook: the content type is JSON")
    return value


def _timeout(value: Any) -> float:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not 0 < value <= MAX_TIMEOUT_SECONDS:
        raise _invalid(
            "option timeout of the strategy webhook: must be a number of seconds above 0, at most "
            f"{MAX_TIMEOUT_SECONDS:g}, not {value!r}"
        )
    return float(value)


def _invalid(reason: str) -> Invalid:
    return Invalid(reason, kind="invalid_merge_options")


def _failure(reason: str, kind: str = "merge_failed") -> Conflict:
    hint = "Correct the service, or choose another strategy for the path."
    return Conflict(f"the webhook failed: {reason}", kind=kind, hint=hint)
