"""How S3, or what speaks as S3 does, is reached: its addresses, the region, who we are.

A bucket stands in the host's name or, `path_style`, in the path. AWS has its own hosts for each
region; other makers' servers have one `endpoint`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple
from urllib.parse import urlsplit

from anabranch.blocks.http_pool import HttpPool
from anabranch.model.secret import Secret
from anabranch.signing.encoding import encode_key
from anabranch.signing.sign import Signer

__all__ = ["Credentials", "S3Access"]

_FIRST_REGION = "us-east-1"


class Credentials(NamedTuple):
    """Who we are to a store; `token` is that of a session, `expires` in seconds since 1970."""

    access_key_id: str
    secret: Secret
    token: str | None = None
    expires: float | None = None


class S3Access:
    """Addresses, regions and credentials. `credentials` is asked before every request.

    Clients reach it at `public_endpoint`, if not at the same. Without a `region`, and without an
    endpoint, that of each bucket is asked for once.
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

    def url(self, bucket: str, key: str = "", *, public: bool = False) -> str:
        """Returns the URL of a key, or of a bucket without one; a key in it is encoded, never
        normalised. A `public` one is where clients reach it.
        """
        base = self.bucket_endpoint(bucket, public=public)
        if self.in_path(bucket):
            base = f"{base}/{bucket}"
        return f"{base}/{encode_key(key)}" if key else base

    def bucket_endpoint(self, bucket: str, *, public: bool = False) -> str:
        """Returns the beginning of all URLs of a bucket: scheme and host."""
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
        """Returns whether a bucket stands in the path: a dot in its name fits no certificate."""
        return self.path_style or "." in bucket

    def region(self, bucket: str) -> str:
        """Returns a bucket's region. Raises nothing: where it cannot be found out, the configured
        one, or AWS's first, is taken, and the store's answer will tell.
        """
        if not self._discover:
            return self._region or _FIRST_REGION
        known = self._regions.get(bucket)
        if known is None:
            known = self._found_region(bucket)
            self._regions[bucket] = known
        return known

    def signer(self, bucket: str) -> Signer:
        """Returns who signs requests about a bucket. Raises what the credentials' source does."""
        who = self.credentials()
        return Signer(who.access_key_id, who.secret, self.region(bucket), who.token)

    def _found_region(self, bucket: str) -> str:
        pool = HttpPool(silence_seconds=5, connect_seconds=5)
        try:
            # whoever may not read the bucket is told its region all the same
            answer = pool.send("HEAD", f"https://s3.amazonaws.com/{bucket}", {})
        except OSError:
            return self._region or _FIRST_REGION
        finally:
            pool.close()
        return answer.headers.get("x-amz-bucket-region") or self._region or _FIRST_REGION
