"""Block store on S3 and S3-compatible object storage."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from obstore.store import S3Store

from anabranch.blocks.cloud.addresses import AddressParser, Location, is_path
from anabranch.blocks.cloud.obstore_client import ObstoreClient
from anabranch.blocks.cloud.obstore_options import client_options, retry_config
from anabranch.blocks.cloud.retry_policy import RetryPolicy
from anabranch.blocks.cloud.storage_class import storage_class_reader
from anabranch.blocks.cloud.store import CloudBlocks
from anabranch.blocks.contract import StorageConfig
from anabranch.blocks.multipart.s3_api import S3Uploads
from anabranch.blocks.s3.client import S3Client
from anabranch.blocks.s3.endpoint import Credentials, S3Endpoint
from anabranch.blocks.s3.quarantine import S3Quarantine
from anabranch.blocks.s3.renewed_client import RenewedClient
from anabranch.blocks.s3.requests import S3Requests

if TYPE_CHECKING:
    from obstore.store import S3Credential

__all__ = ["s3_blocks"]

_BUCKET = re.compile(r"s3://(?P<bucket>[^/]+)")

_OBSTORE_LIFETIME = timedelta(minutes=10)
"""How long obstore may use credentials. It asks again five minutes before they expire, and botocore
refreshes them at the latest ten minutes before they really do.
"""


def s3_blocks(
    access: S3Endpoint,
    *,
    retry_policy: RetryPolicy = RetryPolicy(),  # noqa: B008  frozen
    default_namespace_prefix: str = "",
    pre_sign_support: bool = True,
    pre_sign_multipart_upload: bool = True,
    clock: Callable[[], float] = time.time,
) -> CloudBlocks:
    """Returns the store. `clock` gives seconds since 1970."""
    requests = S3Requests(access, retry_policy, clock=clock)
    uploads = S3Uploads(requests, clock=clock)
    addresses = AddressParser(_BUCKET.pattern)
    paths = RenewedClient(ObstoreClient(_Buckets(access, retry_policy)), access)
    exact = S3Client(requests, uploads)

    def delete(locations: Sequence[Location]) -> None:
        # the keys of a namespace are either all paths, or none is
        (paths if is_path(locations[0].key) else exact).delete(locations)

    return CloudBlocks(
        StorageConfig(
            blockstore_type="s3",
            blockstore_namespace_example="s3://example-bucket/",
            namespace_validity_regex="^s3://",
            import_support=True,
            import_validity_regex="^s3://",
            default_namespace_prefix=default_namespace_prefix,
            pre_sign_support=pre_sign_support,
            pre_sign_multipart_upload=pre_sign_multipart_upload,
        ),
        addresses,
        paths=paths,
        exact=exact,
        uploads=uploads,
        presigned=requests.presigned,
        quarantine=S3Quarantine(requests, addresses, delete),
        storage_class=storage_class_reader(requests, "x-amz-storage-class", "STANDARD"),
        clock=clock,
    )


class _Buckets:
    """Cache of obstore's stores, one per bucket. Other credentials need other stores, because each
    store has a cache of its own.
    """

    def __init__(self, access: S3Endpoint, retry_policy: RetryPolicy) -> None:
        self._access = access
        self._retry_policy = retry_policy
        self._lock = threading.Lock()
        self._stores: dict[str, S3Store] = {}
        self._credentials: Credentials | None = None

    def __call__(self, location: Location) -> S3Store:
        credentials = self._access.credentials()  # raises our own errors; obstore's have no reason
        store = self._stores.get(location.bucket)
        if store is None or credentials != self._credentials:
            with self._lock:
                if credentials != self._credentials:
                    self._stores, self._credentials = {}, credentials
                store = self._stores.get(location.bucket) or self._open(location.bucket)
                self._stores[location.bucket] = store
        return store

    def _open(self, bucket: str) -> S3Store:
        access = self._access
        endpoint = access.bucket_endpoint(bucket)
        return S3Store(
            bucket,
            endpoint=endpoint,
            region=access.region(bucket),
            virtual_hosted_style_request=not access.in_path(bucket),
            credential_provider=self._credential,
            client_options=client_options(self._retry_policy, endpoint),
            retry_config=retry_config(self._retry_policy),
        )

    def _credential(self) -> S3Credential:
        credentials = self._access.credentials()
        return {
            "access_key_id": credentials.access_key_id,
            "secret_access_key": credentials.secret.reveal(),
            "token": credentials.token,
            "expires_at": datetime.now(UTC) + _OBSTORE_LIFETIME,
        }
