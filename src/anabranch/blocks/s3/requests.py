"""Signed requests to S3, and presigned URLs for clients."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

from anabranch.blocks.cloud.addresses import Location
from anabranch.blocks.cloud.retry_policy import RetryPolicy
from anabranch.blocks.cloud.signed_requests import SignedRequest, SigningClient
from anabranch.blocks.s3.endpoint import S3Endpoint
from anabranch.signing.encoding import encode_query
from anabranch.signing.sign import presign, sign_request

__all__ = ["S3Requests"]


class S3Requests(SigningClient):
    """Client that signs requests to an endpoint. `clock` gives seconds since 1970."""

    def __init__(
        self,
        access: S3Endpoint,
        retry_policy: RetryPolicy,
        *,
        clock: Callable[[], float] = time.time,
    ) -> None:
        super().__init__(self._signed, retry_policy)
        self.access = access
        self._clock = clock

    def presigned(
        self, method: str, location: Location, query: Mapping[str, str], seconds: int
    ) -> str:
        """Returns a presigned URL for one method, valid for `seconds`."""
        url = self.access.url(location.bucket, location.key, public=True) + encode_query(query)
        signer = self.access.signer(location.bucket)
        return presign(signer, method, url, time=self._clock(), expires=seconds)

    def _signed(
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
