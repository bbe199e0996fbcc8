"""Block store on Azure Blob Storage.

A namespace is `https://ACCOUNT.DOMAIN/CONTAINER/PREFIX`, as in lakeFS. `endpoint` is that of an
emulator, which does not change the namespace.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from obstore.store import AzureStore

from anabranch.blocks.azure.endpoint import AzureEndpoint
from anabranch.blocks.azure.identity import find_token
from anabranch.blocks.azure.uploads import AzureUploads
from anabranch.blocks.azure.user_delegation_keys import UserDelegationSigners
from anabranch.blocks.cloud.addresses import AddressParser, Location
from anabranch.blocks.cloud.client import MultipartClient
from anabranch.blocks.cloud.obstore_client import ObstoreClient
from anabranch.blocks.cloud.obstore_options import client_options, retry_config
from anabranch.blocks.cloud.retry_policy import RetryPolicy
from anabranch.blocks.cloud.signed_requests import SigningClient
from anabranch.blocks.cloud.storage_class import StorageClassReader, storage_class_reader
from anabranch.blocks.cloud.store import CloudBlocks
from anabranch.blocks.contract import StorageConfig
from anabranch.blocks.multipart.part_objects import PartObjectUploads
from anabranch.model.secret import Secret

if TYPE_CHECKING:
    from obstore.store import AzureConfig, AzureCredential

__all__ = ["AZURE_DOMAIN", "azure_blocks"]

_CHANGED = r"\\|\.(?:/|\Z)"
"""Azure replaces backslashes by slashes and removes dots at the end of a segment. [Microsoft,
"Naming and referencing containers, blobs, and metadata"]
"""

AZURE_DOMAIN = "blob.core.windows.net"


def azure_blocks(
    *,
    account: str = "",
    access_key: Secret = Secret(""),  # noqa: B008  frozen
    credential: Callable[[], AzureCredential] | None = None,
    domain: str = AZURE_DOMAIN,
    endpoint: str = "",
    retry_policy: RetryPolicy = RetryPolicy(),  # noqa: B008  frozen
    default_namespace_prefix: str = "",
    pre_sign_support: bool = True,
    clock: Callable[[], float] = time.time,
) -> CloudBlocks:
    """Returns the store. With an `access_key`, only its account is accessible, and multipart
    uploads use Azure's own API. Without one, requests to any account carry the credential that
    `credential` returns, by default the token that azure-identity finds.

    Raises Invalid (kind extra_missing) if that library is needed and not installed.
    """
    root = rf"https?://[a-z0-9_-]+\.{re.escape(domain)}"
    delegated = None
    if not access_key:
        credential = credential or find_token()
        delegated = UserDelegationSigners(credential, clock=clock)
    access = AzureEndpoint(account, access_key, endpoint, delegated=delegated, clock=clock)
    buckets = _Containers(access, access_key, credential, retry_policy)
    objects = ObstoreClient(buckets)
    uploads: MultipartClient = PartObjectUploads(objects, clock=clock)
    storage_class: StorageClassReader | None = None
    if access.signs:
        uploads = AzureUploads(access, objects, retry_policy, clock=clock)
        requests = SigningClient(access.signed_request, retry_policy)
        storage_class = storage_class_reader(requests, "x-ms-access-tier")
    return CloudBlocks(
        StorageConfig(
            blockstore_type="azure",
            blockstore_namespace_example=f"https://mystorageaccount.{domain}/mycontainer/",
            namespace_validity_regex=f"^{root}",
            import_support=True,
            import_validity_regex=f"^{root}",
            default_namespace_prefix=default_namespace_prefix,
            pre_sign_support=pre_sign_support,
            pre_sign_multipart_upload=pre_sign_support,
        ),
        AddressParser(rf"{root}/(?P<bucket>[^/]+)", changed=_CHANGED),
        paths=objects,
        exact=None,
        uploads=uploads,
        presigned=access.presigned,
        storage_class=storage_class,
        clock=clock,
    )


class _Containers:
    """Cache of obstore's stores, one per container."""

    def __init__(
        self,
        access: AzureEndpoint,
        access_key: Secret,
        credential: Callable[[], AzureCredential] | None,
        retry_policy: RetryPolicy,
    ) -> None:
        self._access = access
        self._access_key = access_key
        self._credential = credential
        self._retry_policy = retry_policy
        self._lock = threading.Lock()
        self._stores: dict[str, AzureStore] = {}

    def __call__(self, location: Location) -> AzureStore:
        if self._credential is not None:
            self._credential()  # raises our own errors, obstore's do not tell the reason
        store = self._stores.get(location.root)
        if store is None:
            with self._lock:
                store = self._stores.get(location.root) or self._open(location)
                self._stores[location.root] = store
        return store

    def _open(self, location: Location) -> AzureStore:
        endpoint = self._access.endpoint(location)
        account = self._access.account(location)
        config: AzureConfig = {"account_name": account, "endpoint": endpoint}
        if self._access.signs:
            config["account_key"] = self._access_key.reveal()
        return AzureStore(
            location.bucket,
            config=config,
            client_options=client_options(self._retry_policy, endpoint),
            retry_config=retry_config(self._retry_policy),
            credential_provider=self._credential,
        )
