"""Stores: how a worker reaches the object store that a repository lies in.

    store = anabranch.spark.S3Store(region="eu-west-1")
    anabranch.spark.import_listing(server, "sea", "main", listing, store=store)

Each is a small thing that goes to workers with the job, keys included, and is called there; where
no keys are given, each worker has those of its own environment, as a machine's role.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeAlias

from anabranch.blocks.contract import BlockStore
from anabranch.blocks.local import LocalBlocks
from anabranch.errors import NotSupported
from anabranch.model.secret import Secret

__all__ = [
    "AzureStore",
    "GoogleStore",
    "Opener",
    "S3Store",
    "opened_store",
    "opener_of",
    "unreachable",
]

Opener: TypeAlias = Callable[[], BlockStore]
"""Opens a store; it can be pickled."""


class S3Store:
    """S3, or what speaks as S3 does at `endpoint`. Without an access key, credentials are found
    where AWS's own tools find them.
    """

    def __init__(
        self,
        *,
        endpoint: str = "",
        region: str = "",
        access_key_id: str = "",
        secret_access_key: str = "",
        session_token: str = "",
        path_style: bool = False,
    ) -> None:
        self.endpoint = endpoint
        self.region = region
        self._path_style = path_style
        self._access_key_id = access_key_id
        self._secret = Secret(secret_access_key)
        self._token = Secret(session_token)

    def __repr__(self) -> str:
        return f"S3Store(endpoint={self.endpoint!r}, region={self.region!r})"

    def __call__(self) -> BlockStore:
        """Returns the store, opened."""
        from anabranch.blocks.s3_access import S3Access  # noqa: PLC0415  slow to import
        from anabranch.blocks.s3_credentials import find_credentials  # noqa: PLC0415
        from anabranch.blocks.s3_store import s3_blocks  # noqa: PLC0415

        region = self.region or os.environ.get("AWS_REGION", "")
        credentials = find_credentials(
            os.environ,
            access_key_id=self._access_key_id,
            secret_access_key=self._secret,
            session_token=self._token,
            region=region,
        )
        return s3_blocks(
            S3Access(
                credentials, endpoint=self.endpoint, region=region, path_style=self._path_style
            )
        )


class GoogleStore:
    """Google Cloud Storage, for the service account whose key, as JSON, is given; without one, for
    whom Google's own tools find. An `endpoint` is an emulator's.
    """

    def __init__(self, *, credentials_json: str = "", endpoint: str = "") -> None:
        self.endpoint = endpoint
        self._key = Secret(credentials_json)

    def __repr__(self) -> str:
        return f"GoogleStore(endpoint={self.endpoint!r})"

    def __call__(self) -> BlockStore:
        """Returns the store, opened."""
        from anabranch.blocks.gcs_store import gcs_blocks  # noqa: PLC0415  slow to import

        identity = {"google_service_account_key": self._key.reveal()} if self._key else {}
        file = os.environ.get("GOOGLE_APPLICATION_CREDENTIALS")
        if file and not identity:
            identity = {"google_application_credentials": file}
        return gcs_blocks(identity, endpoint=self.endpoint)


class AzureStore:
    """Azure's blob storage, by the key of an account; without one, by the machine's managed
    identity. An `endpoint` is an emulator's, with its account.
    """

    def __init__(self, *, account: str = "", access_key: str = "", endpoint: str = "") -> None:
        self.account = account
        self.endpoint = endpoint
        self._key = Secret(access_key)

    def __repr__(self) -> str:
        return f"AzureStore(account={self.account!r}, endpoint={self.endpoint!r})"

    def __call__(self) -> BlockStore:
        """Returns the store, opened."""
        from anabranch.blocks.azure_store import azure_blocks  # noqa: PLC0415  slow to import

        return azure_blocks(account=self.account, access_key=self._key, endpoint=self.endpoint)


def opener_of(blocks: BlockStore, store: Opener | None, namespace: str) -> Opener:
    """Returns how workers reach the store of a namespace: `store`, or, without one, the folder that
    it is. Raises NotSupported where they cannot.
    """
    if store is not None:
        return store
    if isinstance(blocks, LocalBlocks):
        return blocks.opener()
    raise unreachable(namespace)


def unreachable(namespace: str) -> NotSupported:
    """Returns the error that says that workers cannot reach the store of a namespace."""
    return NotSupported(
        f"{namespace}: workers do not know how to reach this store",
        hint="Give it as `store`, such as anabranch.spark.S3Store(…).",
    )


@contextmanager
def opened_store(store: Opener) -> Iterator[BlockStore]:
    """Gives a store, and closes it."""
    blocks = store()
    try:
        yield blocks
    finally:
        blocks.close()
