"""The block store on Azure's blob storage.

A namespace is `https://ACCOUNT.DOMAIN/CONTAINER/PREFIX`, as lakeFS has it. What goes over the wire
may go to another `endpoint`, an emulator's.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Mapping

from obstore.store import AzureStore

from anabranch.blocks.azure_access import AzureAccess
from anabranch.blocks.azure_delegation import DelegatedSigners
from anabranch.blocks.azure_tokens import MACHINE
from anabranch.blocks.azure_uploads import AzureUploads
from anabranch.blocks.contract import StorageConfig
from anabranch.blocks.object_addresses import AddressForm, Location
from anabranch.blocks.object_store import ObjectBlocks
from anabranch.blocks.object_uploads import ObjectUploads
from anabranch.blocks.objects import Uploads
from anabranch.blocks.obstore_options import client_options, retry_config
from anabranch.blocks.path_objects import PathObjects
from anabranch.blocks.patience import Patience
from anabranch.model.secret import Secret

__all__ = ["AZURE_DOMAIN", "azure_blocks"]

_CHANGED = r"\\|\.(?:/|\Z)"
"""Azure takes a backslash for a slash and drops dots at the end of a name. [Microsoft, "Naming and
referencing containers, blobs, and metadata"]
"""

AZURE_DOMAIN = "blob.core.windows.net"


def azure_blocks(
    *,
    account: str = "",
    access_key: Secret = Secret(""),  # noqa: B008  frozen
    identity: Mapping[str, str] | None = None,
    domain: str = AZURE_DOMAIN,
    endpoint: str = "",
    patience: Patience = Patience(),  # noqa: B008  frozen
    default_namespace_prefix: str = "",
    pre_sign_support: bool = True,
    machine: str = MACHINE,
    clock: Callable[[], float] = time.time,
) -> ObjectBlocks:
    """Returns the store. With an `access_key`, only the account that it is for can be reached;
    else who we are to any account is told by `identity`, obstore's names for a client's id, secret,
    tenant and token file, or by the machine's managed identity.
    Only with a key are uploads in parts the store's own. `machine` is where the machine's metadata
    service is.
    """
    root = rf"https?://[a-z0-9_-]+\.{re.escape(domain)}"
    delegated = DelegatedSigners(identity or {}, machine=machine, clock=clock)
    access = AzureAccess(account, access_key, endpoint, delegated=delegated, clock=clock)
    buckets = _Containers(access, access_key, dict(identity or {}), patience)
    objects = PathObjects(buckets)
    uploads: Uploads = ObjectUploads(objects, clock=clock)
    if access.signs:
        uploads = AzureUploads(access, objects, patience, clock=clock)
    return ObjectBlocks(
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
        AddressForm(rf"{root}/(?P<bucket>[^/]+)", changed=_CHANGED),
        paths=objects,
        exact=None,
        uploads=uploads,
        presigned=access.presigned,
        clock=clock,
    )


class _Containers:
    """obstore's stores, one for each container of each account."""

    def __init__(
        self,
        access: AzureAccess,
        access_key: Secret,
        identity: Mapping[str, str],
        patience: Patience,
    ) -> None:
        self._access = access
        self._access_key = access_key
        self._identity = identity
        self._patience = patience
        self._lock = threading.Lock()
        self._stores: dict[str, AzureStore] = {}

    def __call__(self, location: Location) -> AzureStore:
        store = self._stores.get(location.root)
        if store is None:
            with self._lock:
                store = self._stores.get(location.root) or self._open(location)
                self._stores[location.root] = store
        return store

    def _open(self, location: Location) -> AzureStore:
        endpoint = self._access.endpoint(location)
        account = self._access.account(location)
        config = {"account_name": account, "endpoint": endpoint, **self._identity}
        if self._access.signs:
            config["account_key"] = self._access_key.reveal()
        return AzureStore(
            location.bucket,
            config=config,  # type: ignore[arg-type]
            client_options=client_options(self._patience, endpoint),
            retry_config=retry_config(self._patience),
        )
