"""Stores with which workers access the object store of a repository.

    store = anabranch.spark.S3Store(region="eu-west-1")
    anabranch.spark.import_listing(server, "sea", "main", listing, store=store)

A store object is pickled and sent to the workers with the job, including its keys, and opened
there. Without keys, each worker uses the credentials of its own environment, such as an instance
role. `retry_policy` decides how often requests are repeated.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeAlias

from anabranch.blocks.cloud.installed_client import report_missing_client
from anabranch.blocks.cloud.retry_policy import RetryPolicy
from anabranch.blocks.contract import BlockStore
from anabranch.blocks.local.store import LocalBlocks
from anabranch.errors import NotSupported
from anabranch.model.secret import Secret
from anabranch.spark.sources.refusals import note_refusals

__all__ = [
    "PATIENT",
    "AzureStore",
    "GoogleStore",
    "Opener",
    "S3Store",
    "open_store",
    "store_opener",
    "unreachable",
]

PATIENT = RetryPolicy(deadline=150.0, retries=600)
"""The retries of requests by tasks. A cluster can make a store throttle requests for minutes, and a
task that gives up has to start again. Only the deadline ends them.
"""

Opener: TypeAlias = Callable[[], BlockStore]
"""Opens a store; it can be pickled."""


class S3Store:
    """S3, or an S3-compatible service at `endpoint`. Without an access key, credentials are found
    like those of AWS's own tools, in `profile` and `credentials_file` if these are given. Those
    that the store refuses are looked for again: a file may have new ones.
    """

    def __init__(
        self,
        *,
        endpoint: str = "",
        region: str = "",
        access_key_id: str = "",
        secret_access_key: str = "",
        session_token: str = "",
        profile: str = "",
        credentials_file: str = "",
        path_style: bool = False,
        retry_policy: RetryPolicy = PATIENT,
    ) -> None:
        self._retry_policy = retry_policy
        self.endpoint = endpoint
        self.region = region
        self._path_style = path_style
        self._access_key_id = access_key_id
        self._secret = Secret(secret_access_key)
        self._token = Secret(session_token)
        self._profile = profile
        self._credentials_file = credentials_file

    def __repr__(self) -> str:
        return f"S3Store(endpoint={self.endpoint!r}, region={self.region!r})"

    def __call__(self) -> BlockStore:
        """Opens the store and returns it."""
        with report_missing_client("s3"):
            from anabranch.blocks.s3.credentials import find_credentials  # noqa: PLC0415
            from anabranch.blocks.s3.endpoint import S3Endpoint  # noqa: PLC0415  slow to import
            from anabranch.blocks.s3.store import s3_blocks  # noqa: PLC0415

        region = self.region or os.environ.get("AWS_REGION", "")
        credentials = find_credentials(
            access_key_id=self._access_key_id,
            secret_access_key=self._secret,
            session_token=self._token,
            profile=self._profile,
            credentials_file=self._credentials_file,
            region=region,
        )
        return s3_blocks(
            S3Endpoint(
                credentials, endpoint=self.endpoint, region=region, path_style=self._path_style
            ),
            retry_policy=self._retry_policy,
        )


class GoogleStore:
    """Google Cloud Storage, with the key of a service account as JSON, or without it with Google's
    application default credentials. `endpoint` is for emulators.
    """

    def __init__(
        self,
        *,
        credentials_json: str = "",
        endpoint: str = "",
        retry_policy: RetryPolicy = PATIENT,
    ) -> None:
        self._retry_policy = retry_policy
        self.endpoint = endpoint
        self._key = Secret(credentials_json)

    def __repr__(self) -> str:
        return f"GoogleStore(endpoint={self.endpoint!r})"

    def __call__(self) -> BlockStore:
        """Opens the store and returns it."""
        with report_missing_client("gcs"):
            from anabranch.blocks.gcs.store import gcs_blocks  # noqa: PLC0415  slow to import

        file = "" if self._key else os.environ.get("GOOGLE_APPLICATION_CREDENTIALS", "")
        return gcs_blocks(
            credentials_json=self._key,
            credentials_file=file,
            endpoint=self.endpoint,
            retry_policy=self._retry_policy,
        )


class AzureStore:
    """Azure Blob Storage, with the key of an account, or without it with the identity that
    azure-identity finds on each worker. `endpoint` is for emulators, and includes the account.
    """

    def __init__(
        self,
        *,
        account: str = "",
        access_key: str = "",
        endpoint: str = "",
        retry_policy: RetryPolicy = PATIENT,
    ) -> None:
        self._retry_policy = retry_policy
        self.account = account
        self.endpoint = endpoint
        self._key = Secret(access_key)

    def __repr__(self) -> str:
        return f"AzureStore(account={self.account!r}, endpoint={self.endpoint!r})"

    def __call__(self) -> BlockStore:
        """Opens the store and returns it."""
        with report_missing_client("azure"):
            from anabranch.blocks.azure.store import azure_blocks  # noqa: PLC0415  slow to import

        return azure_blocks(
            account=self.account,
            access_key=self._key,
            endpoint=self.endpoint,
            retry_policy=self._retry_policy,
        )


def store_opener(blocks: BlockStore, store: Opener | None, namespace: str) -> Opener:
    """Returns `store`, or the opener of a local store. Raises NotSupported if workers cannot access
    the store of the namespace.
    """
    if store is not None:
        return store
    if isinstance(blocks, LocalBlocks):
        return blocks.opener()
    raise unreachable(namespace)


def unreachable(namespace: str) -> NotSupported:
    """Returns the error for a store that workers cannot access."""
    return NotSupported(
        f"{namespace}: workers need access to the store of this namespace",
        hint="Pass it as `store`, such as anabranch.spark.S3Store(…).",
    )


@contextmanager
def open_store(store: Opener) -> Iterator[BlockStore]:
    """Opens a store and closes it when the context ends. Notes refusals."""
    with note_refusals():
        blocks = store()
        try:
            yield blocks
        finally:
            blocks.close()
