"""An S3-compatible service on this machine, for tests: its address and credentials."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from anabranch.blocks.cloud.http_pool import HttpPool
from anabranch.blocks.cloud.retry_policy import RetryPolicy
from anabranch.blocks.cloud.store import CloudBlocks
from anabranch.blocks.s3.endpoint import Credentials, S3Endpoint
from anabranch.blocks.s3.store import s3_blocks
from anabranch.model.secret import Secret
from anabranch.signing.sign import sign_request

if TYPE_CHECKING:
    from anabranch.spark.sources.stores import S3Store

__all__ = ["CREDENTIALS", "S3Service"]

CREDENTIALS = Credentials("AKIAEMULATED", Secret("a-secret-of-no-worth"))
"""The key pair that such a service knows."""


class S3Service:
    """A service on `port` of 127.0.0.1; `product` is whose it is.

    `least_part_bytes` is what every part of an upload but the last must have.
    """

    region = "us-east-1"
    product = ""
    least_part_bytes = 0

    def __init__(self, port: int = 0) -> None:
        self.port = port

    @property
    def endpoint(self) -> str:
        """Where it is."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def settings(self) -> dict[str, str]:
        """The environment of a server of ours that keeps its blocks here."""
        return {
            "ANABRANCH_BLOCKSTORE_TYPE": "s3",
            "ANABRANCH_BLOCKSTORE_S3_ENDPOINT": self.endpoint,
            "ANABRANCH_BLOCKSTORE_S3_FORCE_PATH_STYLE": "true",
            "ANABRANCH_BLOCKSTORE_S3_CREDENTIALS_ACCESS_KEY_ID": CREDENTIALS.access_key_id,
            "ANABRANCH_BLOCKSTORE_S3_CREDENTIALS_SECRET_ACCESS_KEY": CREDENTIALS.secret.reveal(),
        }

    def access(self, port: int | None = None, public_endpoint: str = "") -> S3Endpoint:
        """Returns how to reach it, by way of another port if one is given."""
        return S3Endpoint(
            lambda: CREDENTIALS,
            endpoint=f"http://127.0.0.1:{port or self.port}",
            region=self.region,
            path_style=True,
            public_endpoint=public_endpoint,
        )

    def blocks(
        self,
        port: int | None = None,
        retry_policy: RetryPolicy = RetryPolicy(),  # noqa: B008  frozen
    ) -> CloudBlocks:
        """Returns a block store on it, by way of another port if one is given."""
        return s3_blocks(self.access(port), retry_policy=retry_policy)

    def task_store(self) -> S3Store:
        """Returns what gives tasks of Spark access to it."""
        from anabranch.spark.sources.stores import S3Store  # which imports all of Spark's jobs

        return S3Store(
            endpoint=self.endpoint,
            region=self.region,
            access_key_id=CREDENTIALS.access_key_id,
            secret_access_key=CREDENTIALS.secret.reveal(),
            path_style=True,
        )

    def make_bucket(self, name: str) -> None:
        """Makes a bucket."""
        self._put(name, "", b"")

    def set_versioning(self, name: str, status: str = "Enabled") -> None:
        """Sets whether a bucket keeps versions: Enabled or Suspended."""
        body = f"<VersioningConfiguration><Status>{status}</Status></VersioningConfiguration>"
        self._put(name, "?versioning=", body.encode())

    def _put(self, bucket: str, query: str, body: bytes) -> None:
        access = self.access()
        url = access.url(bucket) + query
        headers = sign_request(access.signer(bucket), "PUT", url, {}, time=time.time()).headers
        pool = HttpPool(read_timeout=60, connect_timeout=60)
        try:
            answer = pool.send("PUT", url, {**headers, "Content-Length": str(len(body))}, body)
            assert answer.status == 200, answer.body
        finally:
            pool.close()
