"""Client that signs its own requests to object stores: for operations that obstore lacks, and for
keys that it would change.

Each attempt has a new signature. Bodies are sent with their MD5, so that a store rejects a body
that was damaged in transit.
"""

from __future__ import annotations

import base64
import hashlib
import http.client
import re
import time
from collections.abc import Callable, Mapping
from typing import BinaryIO, NamedTuple, TypeAlias

from anabranch.blocks.cloud.addresses import Location
from anabranch.blocks.cloud.errors import error_from_response, unreachable
from anabranch.blocks.cloud.http_pool import HttpPool, HttpResponse
from anabranch.blocks.cloud.retry_policy import RetryPolicy
from anabranch.errors import AnabranchError

__all__ = ["Sign", "SignedRequest", "SigningClient", "error_code", "require_status"]

_CODE = re.compile(rb"<Code>(\w+)</Code>")
_RETRYABLE = frozenset({"RequestTimeout", "SlowDown", "InternalError", "OperationAborted"})
_TOO_MANY, _SERVER_ERRORS = 429, 500
_NOT_IMPLEMENTED = 501
_THROTTLED = (_TOO_MANY, 503)


class SignedRequest(NamedTuple):
    """URL and headers of a signed request."""

    url: str
    headers: Mapping[str, str]


Sign: TypeAlias = Callable[[str, Location, Mapping[str, str], Mapping[str, str]], SignedRequest]
"""Signs a request, given by its method, location, query and headers."""


class SigningClient:
    """Sends requests that `sign` has signed, and retries them."""

    def __init__(self, sign: Sign, retry_policy: RetryPolicy) -> None:
        self._sign = sign
        self._retry_policy = retry_policy
        self._pool = HttpPool(
            read_timeout=retry_policy.read_timeout, connect_timeout=retry_policy.connect_timeout
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
        retry: bool = True,
    ) -> HttpResponse:
        """Returns the response, which may be an error, to a request for a key, or for a bucket if
        the location has no key. A body that is a file has `length` bytes.

        Raises Busy if all attempts time out, or fail with an error that is transient.
        """
        sent = dict(headers or {})
        if isinstance(body, bytes):
            length = len(body)
            if body:
                digest = hashlib.md5(body, usedforsecurity=False).digest()
                sent["Content-MD5"] = base64.b64encode(digest).decode()
        if length is not None and method in {"PUT", "POST"}:
            sent["Content-Length"] = str(length)
        start, attempt, observer = time.monotonic(), 0, self._retry_policy.observer
        observer.sent()
        while True:
            response = self._attempt(method, location, query or {}, sent, body)
            if isinstance(response, HttpResponse) and not _is_retryable(response):
                return response
            failure = response
            if isinstance(response, HttpResponse):
                failure = error_from_response(
                    location.address, response.status, error_code(response)
                )
            backoff = self._retry_policy.backoff(attempt)
            attempt += 1
            late = time.monotonic() + backoff - start > self._retry_policy.deadline
            if not retry or late or attempt > self._retry_policy.retries:
                assert isinstance(failure, AnabranchError)  # noqa: S101  for the type checker
                raise failure
            observer.repeated(_reason(response))
            time.sleep(backoff)

    def close(self) -> None:
        """Closes the connections."""
        self._pool.close()

    def _attempt(
        self,
        method: str,
        location: Location,
        query: Mapping[str, str],
        headers: Mapping[str, str],
        body: bytes | BinaryIO,
    ) -> HttpResponse | AnabranchError:
        if not isinstance(body, bytes):
            body.seek(0)
        signed = self._sign(method, location, query, headers)
        try:
            return self._pool.send(method, signed.url, signed.headers, body)
        except (OSError, http.client.HTTPException) as error:
            return unreachable(location.address, f"{type(error).__name__}: {error}")


def error_code(response: HttpResponse) -> str:
    """Returns the error code of a response, "" without one. Of responses to HEAD, only MinIO's have
    one.
    """
    match = _CODE.search(response.body)
    return match[1].decode() if match else response.headers.get("x-minio-error-code", "")


def require_status(response: HttpResponse, location: Location, *statuses: int) -> None:
    """Raises the corresponding error unless a response has one of the statuses and is not an error
    document, which S3 may send with status 200 if it fails after the response began.
    """
    if response.status not in statuses or _is_error_document(response):
        raise error_from_response(location.address, response.status, error_code(response))


def _is_retryable(response: HttpResponse) -> bool:
    """Returns whether an error is transient. One may have status 200, see `require_status`."""
    if response.status == _NOT_IMPLEMENTED:
        return False
    if response.status == _TOO_MANY or response.status >= _SERVER_ERRORS:
        return True
    return _is_error_document(response) and error_code(response) in _RETRYABLE


def _reason(response: HttpResponse | AnabranchError) -> str:
    """Returns why a request is sent once more."""
    if not isinstance(response, HttpResponse):
        return "unreachable"
    is_throttled = response.status in _THROTTLED or error_code(response) == "SlowDown"
    return "throttled" if is_throttled else "failed"


def _is_error_document(response: HttpResponse) -> bool:
    """Returns whether a response is an error document of S3, and not a block that looks like
    one.
    """
    is_document = "xml" in response.headers.get("content-type", "")
    return is_document and b"<Error>" in response.body[:1024]
