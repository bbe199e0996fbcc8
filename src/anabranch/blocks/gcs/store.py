"""Block store on Google Cloud Storage."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from obstore.store import GCSStore

from anabranch.blocks.cloud.addresses import AddressParser, Location
from anabranch.blocks.cloud.client import MultipartClient
from anabranch.blocks.cloud.obstore_client import ObstoreClient
from anabranch.blocks.cloud.obstore_options import client_options, retry_config
from anabranch.blocks.cloud.retry_policy import RetryPolicy
from anabranch.blocks.cloud.store import CloudBlocks
from anabranch.blocks.contract import StorageConfig
from anabranch.blocks.gcs.endpoint import GcsEndpoint, find_signer
from anabranch.blocks.gcs.identity import find_token
from anabranch.blocks.gcs.uploads import GcsUploads
from anabranch.blocks.multipart.part_objects import PartObjectUploads
from anabranch.errors import Invalid
from anabranch.model.secret import Secret

if TYPE_CHECKING:
    from obstore.store import GCSConfig, GCSCredential

__all__ = ["gcs_blocks"]


def gcs_blocks(
    *,
    credentials_json: Secret = Secret(""),  # noqa: B008  frozen
    credentials_file: str = "",
    endpoint: str = "",
    credential: Callable[[], GCSCredential] | None = None,
    retry_policy: RetryPolicy = RetryPolicy(),  # noqa: B008  frozen
    default_namespace_prefix: str = "",
    pre_sign_support: bool = True,
    clock: Callable[[], float] = time.time,
) -> CloudBlocks:
    """Returns the store. With a service account's key, as JSON or in a file, requests and URLs are
    signed with it. Otherwise requests carry the token that `credential` returns: by default the one
    that google-auth finds for other credentials in JSON, or for this machine. `endpoint` is that of
    an emulator, which gets no token by default.

    Raises Invalid for malformed credentials, a file that cannot be read, and (kind extra_missing)
    if google-auth is needed and not installed.
    """
    if credentials_file:
        credentials_json = _read(credentials_file)
    signer = find_signer(credentials_json)
    access = None if signer is None else GcsEndpoint(signer, endpoint, clock=clock)
    if credential is None and signer is None and not endpoint:
        credential = find_token(credentials_json)
    config: GCSConfig = {}
    if endpoint:
        account = {"gcs_base_url": endpoint, "disable_oauth": True}
        blank = dict.fromkeys(("client_email", "private_key", "private_key_id"), "")
        config = {"service_account_key": json.dumps({**account, **blank})}
    elif signer is not None:
        config = {"service_account_key": credentials_json.reveal()}
    objects = ObstoreClient(_Buckets(config, credential, endpoint, retry_policy))
    uploads: MultipartClient = PartObjectUploads(objects, clock=clock)
    if access is not None:
        uploads = GcsUploads(access, objects, retry_policy, clock=clock)
    return CloudBlocks(
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
        AddressParser(r"gs://(?P<bucket>[^/]+)"),
        paths=objects,
        exact=None,
        uploads=uploads,
        presigned=None if access is None else access.presigned,
        clock=clock,
    )


def _read(credentials_file: str) -> Secret:
    try:
        return Secret(Path(credentials_file).read_text("utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not valid UTF-8"
        raise Invalid(
            f"{credentials_file}: Google's credentials cannot be read: {reason}",
            kind="invalid_settings",
        ) from None


class _Buckets:
    """Cache of obstore's stores, one per bucket."""

    def __init__(
        self,
        config: GCSConfig,
        credential: Callable[[], GCSCredential] | None,
        endpoint: str,
        retry_policy: RetryPolicy,
    ) -> None:
        self._config = config
        self._credential = credential
        self._endpoint = endpoint
        self._retry_policy = retry_policy
        self._lock = threading.Lock()
        self._stores: dict[str, GCSStore] = {}

    def __call__(self, location: Location) -> GCSStore:
        if self._credential is not None:
            self._credential()  # raises our own errors, obstore's do not tell the reason
        store = self._stores.get(location.bucket)
        if store is None:
            with self._lock:
                store = self._stores.get(location.bucket) or self._open(location.bucket)
                self._stores[location.bucket] = store
        return store

    def _open(self, bucket: str) -> GCSStore:
        return GCSStore(
            bucket,
            config=self._config,
            client_options=client_options(self._retry_policy, self._endpoint),
            retry_config=retry_config(self._retry_policy),
            credential_provider=self._credential,
        )
