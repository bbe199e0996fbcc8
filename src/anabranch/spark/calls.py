"""Calls: requests to a server's REST interface, and its refusals as errors.

A request that only reads may be made again, so whatever goes wrong on the way is Busy. One that
changes something may have arrived although its answer did not: OutcomeUnknown.
"""

from __future__ import annotations

import http.client
import json
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from http.client import HTTPResponse
from typing import Any
from urllib.parse import quote, urlencode

from anabranch.errors import (
    AnabranchError,
    Busy,
    Conflict,
    Corrupt,
    Denied,
    DirtyBranch,
    Gone,
    Invalid,
    MergeConflict,
    NoChanges,
    NotFound,
    OutcomeUnknown,
    PreconditionFailed,
    ProtectedBranch,
    ReadOnlyRepository,
    Unauthenticated,
)
from anabranch.model.secret import Secret

__all__ = ["Calls"]

_ERRORS: dict[int, type[AnabranchError]] = {
    400: Invalid,
    401: Unauthenticated,
    403: Denied,
    404: NotFound,
    409: Conflict,
    410: Gone,
    412: PreconditionFailed,
    500: Corrupt,
}
_READ_SECONDS = 60
_CHANGE_SECONDS = 900
"""A commit or a merge of very many objects answers only when it is done."""

_PAGE = 1000


class Calls:
    """The REST interface of the server at `url`, for whom `authorization` says."""

    def __init__(self, url: str, authorization: Secret) -> None:
        self.url = url
        self._authorization = authorization

    def read(self, *segments: str, query: Mapping[str, str] | None = None) -> HTTPResponse:
        """Returns the answer to a request that changes nothing, to be closed by the caller.

        Raises NotFound and the other errors that statuses mean; Busy when there is no answer.
        """
        request = self._request("GET", segments, query)
        try:
            answer: HTTPResponse = urllib.request.urlopen(  # noqa: S310  the scheme was looked at
                request, timeout=_READ_SECONDS
            )
        except urllib.error.HTTPError as error:
            raise self._refusal(error) from error
        except urllib.error.URLError as error:
            raise Busy(f"{self.url}: {error.reason}") from error
        except (OSError, http.client.HTTPException) as error:
            raise Busy(f"{self.url}: {error}") from error
        return answer

    def get(self, *segments: str) -> Any:
        """Returns what an answer in JSON holds."""
        with self.read(*segments) as answer:
            return json.load(answer)

    def items(self, *segments: str, **query: str) -> Iterator[Any]:
        """Yields the items of a listing, which is asked for page by page."""
        after, more = "", True
        while more:
            with self.read(
                *segments, query={**query, "after": after, "amount": str(_PAGE)}
            ) as answer:
                page = json.load(answer)
            yield from page["results"]
            more, after = page["pagination"]["has_more"], page["pagination"]["next_offset"]

    def change(
        self,
        method: str,
        *segments: str,
        body: Mapping[str, Any] | None = None,
        query: Mapping[str, str] | None = None,
    ) -> bytes:
        """Makes a request that changes something; returns what is answered. Raises OutcomeUnknown
        when it was sent and no answer came.
        """
        request = self._request(method, segments, query)
        if body is not None:
            request.data = json.dumps(body).encode()
            request.add_header("Content-Type", "application/json")
        try:
            with urllib.request.urlopen(request, timeout=_CHANGE_SECONDS) as answer:  # noqa: S310
                return bytes(answer.read())
        except urllib.error.HTTPError as error:
            raise self._refusal(error) from error
        except (OSError, http.client.HTTPException) as error:
            reason = getattr(error, "reason", error)
            kind = Busy if isinstance(reason, ConnectionRefusedError) else OutcomeUnknown
            raise kind(f"{self.url}: {reason}") from error

    def _request(
        self, method: str, segments: tuple[str, ...], query: Mapping[str, str] | None
    ) -> urllib.request.Request:
        path = "/".join(quote(segment, safe="") for segment in ("repositories", *segments))
        asked = f"?{urlencode(query)}" if query else ""
        return urllib.request.Request(  # noqa: S310  the scheme was looked at
            f"{self.url}/api/v1/{path}{asked}",
            method=method,
            headers={"Authorization": self._authorization.reveal()},
        )

    def _refusal(self, error: urllib.error.HTTPError) -> AnabranchError:
        """Returns the error that an answer tells of."""
        told = _told(error)
        message = f"{self.url}: {told.get('message') or f'{error.code} {error.reason}'}"
        kind = error.headers.get("X-Anabranch-Kind")
        if kind == MergeConflict.kind or "conflicts" in told:
            paths = told.get("conflicts") or ()
            return MergeConflict(message, paths=paths, count=told.get("conflict_count", len(paths)))
        for named in (NoChanges, DirtyBranch, ProtectedBranch, ReadOnlyRepository):
            if kind == named.kind:
                return named(message)
        found = _ERRORS.get(error.code, Busy)
        return found(message, kind=kind, hint=error.headers.get("X-Anabranch-Hint"))


def _told(error: urllib.error.HTTPError) -> dict[str, Any]:
    """Returns the body of a refusal, if it is an object of JSON."""
    try:
        found = json.load(error)
    except (OSError, ValueError, http.client.HTTPException):
        return {}
    return found if isinstance(found, dict) else {}
