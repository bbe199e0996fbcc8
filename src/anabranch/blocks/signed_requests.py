"""Requests that we sign and send to object stores ourselves: what our library has no call for, and
keys that it would not send as they are.

Every request is signed anew for each attempt; the body's MD5 goes with it, so that a store takes
nothing that was changed on the way.
"""

from __future__ import annotations

import base64
import hashlib
import http.client
import re
import time
from collections.abc import Callable, Mapping
from typing import BinaryIO, NamedTuple, TypeAlias

from anabranch.blocks.http_pool import HttpAnswer, HttpPool
from anabranch.blocks.object_addresses import Location
from anabranch.blocks.object_errors import refusal, unanswered
from anabranch.blocks.patience import Patience
from anabranch.errors import AnabranchError

__all__ = ["Sign", "SignedRequest", "SignedRequests", "code_of", "expect"]

_CODE = re.compile(rb"<Code>(\w+)</Code>")
_AGAIN = frozenset({"RequestTimeout", "SlowDown", "InternalError", "OperationAborted"})
_TOO_MANY, _SERVER_ERRORS = 429, 500
_NOT_IMPLEMENTED = 501


class SignedRequest(NamedTuple):
    """Where a request goes, and with which headers."""

    url: str
    headers: Mapping[str, str]


Sign: TypeAlias = Callable[[str, Location, Mapping[str, str], Mapping[str, str]], SignedRequest]
"""Signs a request by its method, location, query and headers."""


class SignedRequests:
    """Sends requests about a store's buckets, as `sign` makes them."""

    def __init__(self, sign: Sign, patience: Patience) -> None:
        self._sign = sign
        self._patience = patience
        self._pool = HttpPool(
            silence_seconds=patience.silence_seconds, connect_seconds=patience.connect_seconds
        )

    def send(
        self,
        method: str,
        location: Location,
        *,
        query: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
        body: bytes | BinaryIO = b"",
        length: int | None = None,
        once: bool = False,
    ) -> HttpAnswer:
        """Returns the answer, a refusal too, to a request about a key, or a bucket where there is
        none. A body that is a file has `length` bytes. With `once`, it is not sent again.

        Raises Busy where none comes in time, or only that the store is asked for too much.
        """
        sent = dict(headers or {})
        if isinstance(body, bytes):
            length = len(body)
            if body:
                digest = hashlib.md5(body, usedforsecurity=False).digest()
                sent["Content-MD5"] = base64.b64encode(digest).decode()
        if length is not None and method in {"PUT", "POST"}:
            sent["Content-Length"] = str(length)
        start, attempt = time.monotonic(), 0
        while True:
            answer = self._once(method, location, query or {}, sent, body)
            if isinstance(answer, HttpAnswer) and not _is_passing(answer):
                return answer
            problem = answer
            if isinstance(answer, HttpAnswer):
                problem = refusal(location.address, answer.status, code_of(answer))
            pause = self._patience.pause(attempt)
            attempt += 1
            late = time.monotonic() + pause - start > self._patience.deadline_seconds
            if once or late or attempt > self._patience.retries:
                assert isinstance(problem, AnabranchError)  # noqa: S101  for the type checker
                raise problem
            time.sleep(pause)

    def close(self) -> None:
        """Closes the connections."""
        self._pool.close()

    def _once(
        self,
        method: str,
        location: Location,
        query: Mapping[str, str],
        headers: Mapping[str, str],
        body: bytes | BinaryIO,
    ) -> HttpAnswer | AnabranchError:
        if not isinstance(body, bytes):
            body.seek(0)
        signed = self._sign(method, location, query, headers)
        try:
            return self._pool.send(method, signed.url, signed.headers, body)
        except (OSError, http.client.HTTPException) as error:
            return unanswered(location.address, f"{type(error).__name__}: {error}")


def code_of(answer: HttpAnswer) -> str:
    """Returns the code that tells why a request was refused, "" where none is told. To HEAD, only
    MinIO tells one.
    """
    match = _CODE.search(answer.body)
    return match[1].decode() if match else answer.headers.get("x-minio-error-code", "")


def expect(answer: HttpAnswer, location: Location, *statuses: int) -> None:
    """Raises what an answer means that has none of these statuses, or tells of an error in spite
    of it, as one may that S3 began before it knew.
    """
    if answer.status not in statuses or _tells_of_error(answer):
        raise refusal(location.address, answer.status, code_of(answer))


def _is_passing(answer: HttpAnswer) -> bool:
    """Returns whether to ask again: an error may come as 200 where an answer took long."""
    if answer.status == _NOT_IMPLEMENTED:
        return False
    if answer.status == _TOO_MANY or answer.status >= _SERVER_ERRORS:
        return True
    return code_of(answer) in _AGAIN and _tells_of_error(answer)


def _tells_of_error(answer: HttpAnswer) -> bool:
    """Returns whether an answer is S3's document of an error, and not a block that looks so."""
    is_document = "xml" in answer.headers.get("content-type", "")
    return is_document and b"<Error>" in answer.body[:1024]
