"""Endpoint of S3 or S3-compatible storage: URLs, regions and credentials.

The bucket is part of the host name or, with `path_style`, of the path. AWS has a host per region,
other storage has one `endpoint`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple
from urllib.parse import urlsplit

from anabranch.blocks.cloud.http_pool import HttpPool
from anabranch.blocks.cloud.refreshed_credential import RefreshedCredential
from anabranch.model.secret import Secret
from anabranch.signing.encoding import encode_key
from anabranch.signing.sign import SigningCredentials

__all__ = ["Credentials", "S3Endpoint"]

_DEFAULT_REGION = "us-east-1"
_TIMEOUT = 5.0


class Credentials(NamedTuple):
    """Access key of a store; `token` is the session token of temporary credentials."""

    access_key_id: str
    secret: Secret
    token: str | None = None


class S3Endpoint:
    """URLs, regions and credentials. `credentials` is called before every request.

    `public_endpoint` is the endpoint in presigned URLs, if clients need another one. On AWS without
    a `region`, the region of each bucket is requested once.
    """

    def __init__(
        self,
        credentials: Callable[[], Credentials],
        *,
        endpoint: str = "",
        region: str = "",
        path_style: bool = False,
        discover_region: bool = True,
        public_endpoint: str = "",
    ) -> None:
        self.credentials = credentials
        self.endpoint = endpoint.rstrip("/")
        self._public = public_endpoint.rstrip("/")
        self.path_style = path_style
        self._region = region
        self._discover = discover_region and not endpoint
        self._regions: dict[str, str] = {}

    def renew(self, refused: Credentials) -> bool:
        """Looks for the credentials anew after the store has refused some; returns whether there
        are others. Raises what `credentials` raises.
        """
        if isinstance(self.credentials, RefreshedCredential):
            return bool(self.credentials.renew(refused) != refused)
        return self.credentials() != refused

    def url(self, bucket: str, key: str = "", *, public: bool = False) -> str:
        """Returns the URL of a key, or of the bucket without a key. A key is encoded and never
        normalised. A `public` URL is for clients.
        """
        base = self.bucket_endpoint(bucket, public=public)
        if self.in_path(bucket):
            base = f"{base}/{bucket}"
        return f"{base}/{encode_key(key)}" if key else base

    def bucket_endpoint(self, bucket: str, *, public: bool = False) -> str:
        """Returns the scheme and host of a bucket's URLs."""
        endpoint = (
            (public and self._public)
            or self.endpoint
            or f"https://s3.{self.region(bucket)}.amazonaws.com"
        )
        if self.in_path(bucket):
            return endpoint
        parts = urlsplit(endpoint)
        return f"{parts.scheme}://{bucket}.{parts.netloc}{parts.path}"

    def in_path(self, bucket: str) -> bool:
        """Returns whether the bucket is part of the path. A name with a dot matches no
        certificate.
        """
        return self.path_style or "." in bucket

    def region(self, bucket: str) -> str:
        """Returns a bucket's region. Raises no error: if the region cannot be determined, returns
        the configured one or us-east-1, which the store will reject.
        """
        if not self._discover:
            return self._region or _DEFAULT_REGION
        region = self._regions.get(bucket)
        if region is None:
            region = self._discover_region(bucket)
            self._regions[bucket] = region
        return region

    def signer(self, bucket: str) -> SigningCredentials:
        """Returns the signer of requests for a bucket. Raises what `credentials` raises."""
        credentials = self.credentials()
        return SigningCredentials(
            credentials.access_key_id,
            credentials.secret,
            self.region(bucket),
            credentials.token,
        )

    def _discover_region(self, bucket: str) -> str:
        pool = HttpPool(read_timeout=_TIMEOUT, connect_timeout=_TIMEOUT)
        try:
            # the response has the region even if access is denied
            response = pool.send("HEAD", f"https://s3.amazonaws.com/{bucket}", {})
        except OSError:
            return self._region or _DEFAULT_REGION
        finally:
            pool.close()
        return response.headers.get("x-amz-bucket-region") or self._region or _DEFAULT_REGION
