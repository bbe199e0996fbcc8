"""The block store on Google Cloud Storage."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Mapping

from obstore.store import GCSStore

from anabranch.blocks.contract import StorageConfig
from anabranch.blocks.gcs_access import GcsAccess, find_signer
from anabranch.blocks.gcs_uploads import GcsUploads
from anabranch.blocks.object_addresses import AddressForm, Location
from anabranch.blocks.object_store import ObjectBlocks
from anabranch.blocks.object_uploads import ObjectUploads
from anabranch.blocks.objects import Uploads
from anabranch.blocks.obstore_options import client_options, retry_config
from anabranch.blocks.path_objects import PathObjects
from anabranch.blocks.patience import Patience

__all__ = ["gcs_blocks"]


def gcs_blocks(
    identity: Mapping[str, str],
    *,
    endpoint: str = "",
    patience: Patience = Patience(),  # noqa: B008  frozen
    default_namespace_prefix: str = "",
    pre_sign_support: bool = True,
    clock: Callable[[], float] = time.time,
) -> ObjectBlocks:
    """Returns the store. `identity` holds obstore's name for a service account's key or the path
    of its file; without it, what Google's tools use is used. Only with a key does the store give
    URLs of its own. An `endpoint` is an emulator's, to which we do not say who we are otherwise.

    Raises Invalid for a service account's key that is none.
    """
    signer = find_signer(identity)
    access = None if signer is None else GcsAccess(signer, endpoint, clock=clock)
    objects = PathObjects(_Buckets(identity, endpoint, patience))
    uploads: Uploads = ObjectUploads(objects, clock=clock)
    if access is not None:
        uploads = GcsUploads(access, objects, patience, clock=clock)
    return ObjectBlocks(
        StorageConfig(
            blockstore_type="gs",
            blockstore_namespace_example="gs://example-bucket/",
            namespace_validity_regex="^gs://",
            import_support=True,
            import_validity_regex="^gs://",
            default_namespace_prefix=default_namespace_prefix,
            pre_sign_support=pre_sign_support,
            pre_sign_multipart_upload=pre_sign_support,
        ),
        AddressForm(r"gs://(?P<bucket>[^/]+)"),
        paths=objects,
        exact=None,
        uploads=uploads,
        presigned=None if access is None else access.presigned,
        clock=clock,
    )


class _Buckets:
    """obstore's stores, one for each bucket."""

    def __init__(self, identity: Mapping[str, str], endpoint: str, patience: Patience) -> None:
        self._config = dict(identity)
        if endpoint:
            key = {"gcs_base_url": endpoint, "disable_oauth": True}
            nobody = dict.fromkeys(("client_email", "private_key", "private_key_id"), "")
            self._config = {"google_service_account_key": json.dumps({**key, **nobody})}
        self._endpoint = endpoint
        self._patience = patience
        self._lock = threading.Lock()
        self._stores: dict[str, GCSStore] = {}

    def __call__(self, location: Location) -> GCSStore:
        store = self._stores.get(location.bucket)
        if store is None:
            with self._lock:
                store = self._stores.get(location.bucket) or self._open(location.bucket)
                self._stores[location.bucket] = store
        return store

    def _open(self, bucket: str) -> GCSStore:
        return GCSStore(
            bucket,
            config=self._config,  # type: ignore[arg-type]
            client_options=client_options(self._patience, self._endpoint),
            retry_config=retry_config(self._patience),
        )
