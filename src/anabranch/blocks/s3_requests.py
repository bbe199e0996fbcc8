"""Requests to S3 that we sign ourselves, and URLs that clients are given."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

from anabranch.blocks.object_addresses import Location
from anabranch.blocks.patience import Patience
from anabranch.blocks.s3_access import S3Access
from anabranch.blocks.signed_requests import SignedRequest, SignedRequests
from anabranch.signing.encoding import encode_query
from anabranch.signing.sign import presign, sign_request

__all__ = ["S3Requests"]


class S3Requests(SignedRequests):
    """Sends requests about the buckets that `access` reaches. `clock` gives seconds since 1970."""

    def __init__(
        self, access: S3Access, patience: Patience, *, clock: Callable[[], float] = time.time
    ) -> None:
        super().__init__(self._signed, patience)
        self.access = access
        self._clock = clock

    def presigned(
        self, method: str, location: Location, query: Mapping[str, str], seconds: int
    ) -> str:
        """Returns a URL at which whoever has it can make one request, for so long."""
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
