"""The block store on S3, or on what speaks as S3 does."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from obstore.store import S3Store

from anabranch.blocks.contract import StorageConfig
from anabranch.blocks.object_addresses import AddressForm, Location
from anabranch.blocks.object_store import ObjectBlocks
from anabranch.blocks.obstore_options import client_options, retry_config
from anabranch.blocks.path_objects import PathObjects
from anabranch.blocks.patience import Patience
from anabranch.blocks.s3_access import S3Access
from anabranch.blocks.s3_objects import S3Objects
from anabranch.blocks.s3_requests import S3Requests
from anabranch.blocks.s3_uploads import S3Uploads

if TYPE_CHECKING:
    from obstore.store import S3Credential

__all__ = ["s3_blocks"]

_BUCKET = re.compile(r"s3://(?P<bucket>[^/]+)")


def s3_blocks(
    access: S3Access,
    *,
    patience: Patience = Patience(),  # noqa: B008  frozen
    default_namespace_prefix: str = "",
    pre_sign_support: bool = True,
    pre_sign_multipart_upload: bool = True,
    clock: Callable[[], float] = time.time,
) -> ObjectBlocks:
    """Returns the store. `clock` gives seconds since 1970."""
    requests = S3Requests(access, patience, clock=clock)
    uploads = S3Uploads(requests, clock=clock)
    return ObjectBlocks(
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
        AddressForm(_BUCKET.pattern),
        paths=PathObjects(_Buckets(access, patience)),
        exact=S3Objects(requests, uploads),
        uploads=uploads,
        presigned=requests.presigned,
        clock=clock,
    )


class _Buckets:
    """obstore's stores, one for each bucket."""

    def __init__(self, access: S3Access, patience: Patience) -> None:
        self._access = access
        self._patience = patience
        self._lock = threading.Lock()
        self._stores: dict[str, S3Store] = {}

    def __call__(self, location: Location) -> S3Store:
        self._access.credentials()  # where there are none, obstore would not tell why
        store = self._stores.get(location.bucket)
        if store is None:
            with self._lock:
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
            client_options=client_options(self._patience, endpoint),
            retry_config=retry_config(self._patience),
        )

    def _credential(self) -> S3Credential:
        who = self._access.credentials()
        expires = None if who.expires is None else datetime.fromtimestamp(who.expires, UTC)
        return {
            "access_key_id": who.access_key_id,
            "secret_access_key": who.secret.reveal(),
            "token": who.token,
            "expires_at": expires,
        }
