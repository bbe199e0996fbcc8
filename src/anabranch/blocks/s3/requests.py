"""Signed requests to S3, and presigned URLs for clients.

If the store refuses the credentials and others can be found, a request is sent again with those.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import BinaryIO

from anabranch.blocks.cloud.addresses import Location
from anabranch.blocks.cloud.errors import error_from_response, refuses_credentials
from anabranch.blocks.cloud.http_pool import HttpResponse
from anabranch.blocks.cloud.retry_policy import RetryPolicy
from anabranch.blocks.cloud.signed_requests import SignedRequest, SigningClient, error_code
from anabranch.blocks.s3.endpoint import S3Endpoint
from anabranch.blocks.s3.renewals import Renewals
from anabranch.signing.encoding import encode_query
from anabranch.signing.sign import presign, sign_request

__all__ = ["S3Requests"]

_CLIENT_ERRORS = 400


class S3Requests(SigningClient):
    """Client that signs requests to an endpoint. `clock` gives seconds since 1970."""

    def __init__(
        self,
        access: S3Endpoint,
        retry_policy: RetryPolicy,
        *,
        clock: Callable[[], float] = time.time,
    ) -> None:
        super().__init__(self._sign, retry_policy)
        self.access = access
        self._clock = clock

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
        """Returns the response as `SigningClient.send` does, also with renewed credentials."""
        renewals = Renewals(self.access)
        while True:
            response = super().send(
                *(method, location),
                query=query,
                headers=headers,
                body=body,
                length=length,
                retry=retry,
            )
            if not _is_refusal(response) or not renewals.succeed():
                return response

    def presigned(
        self, method: str, location: Location, query: Mapping[str, str], seconds: int
    ) -> str:
        """Returns a presigned URL for one method, valid for `seconds`."""
        url = self.access.url(location.bucket, location.key, public=True) + encode_query(query)
        signer = self.access.signer(location.bucket)
        return presign(signer, method, url, time=self._clock(), expires=seconds)

    def _sign(
        self,
        method: str,
        location: Location,
        query: Mapping[str, str],
        headers: Mapping[str, str],
    ) -> SignedRequest:
        url = self.access.url(location.bucket, location.key) + encode_query(query)
        signer = self.access.signer(location.bucket)
        signed = sign_request(signer, method, url, headers, time=self._clock())
        return SignedRequest(url, signed.headers)


def _is_refusal(response: HttpResponse) -> bool:
    """Returns whether a response refuses the credentials. Blocks are not searched for a reason."""
    if response.status < _CLIENT_ERRORS:
        return False
    code = error_code(response)
    return bool(code) and refuses_credentials(error_from_response("", response.status, code))
