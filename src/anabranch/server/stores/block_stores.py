"""Opens the block store that the settings name.

The libraries for object stores are imported only if one is used.
"""

from __future__ import annotations

import os
from urllib.parse import urlsplit

from anabranch.blocks.cloud.installed_client import report_missing_client
from anabranch.blocks.cloud.retry_policy import RetryPolicy
from anabranch.blocks.contract import BlockStore
from anabranch.blocks.local.store import LocalBlocks
from anabranch.blocks.memory import MemoryBlocks
from anabranch.errors import Invalid
from anabranch.server.config.blockstore import Blockstore
from anabranch.store_observer import UNOBSERVED, StoreObserver

__all__ = ["open_blocks", "presigned_seconds"]


def open_blocks(blockstore: Blockstore, observer: StoreObserver = UNOBSERVED) -> BlockStore:
    """Opens the store, without a request to an object store; `observer` learns of requests.
    Credentials that are not in the settings are found where the vendor's tools find them.

    Raises Invalid for invalid settings, and the errors of the store.
    """
    if blockstore.type == "mem":
        return MemoryBlocks(pre_signed=blockstore.local.pre_signed)
    if blockstore.type == "local":
        local = blockstore.local
        return LocalBlocks(
            local.path,
            import_enabled=local.import_enabled,
            external_prefixes=local.allowed_external_prefixes,
            pre_signed=local.pre_signed,
            checked_up_to_bytes=local.checked_up_to_bytes,
        )
    return _REMOTE[blockstore.type](blockstore, observer)


def presigned_seconds(blockstore: Blockstore) -> float:
    """Returns how long the store's presigned URLs are valid, in seconds."""
    seconds = {
        "s3": blockstore.s3.pre_signed_expiry,
        "gs": blockstore.gs.pre_signed_expiry,
        "azure": blockstore.azure.pre_signed_expiry,
    }
    return seconds.get(blockstore.type, blockstore.local.pre_signed_expiry)


def _s3(blockstore: Blockstore, observer: StoreObserver) -> BlockStore:
    with report_missing_client("s3"):
        from anabranch.blocks.s3.credentials import find_credentials  # noqa: PLC0415
        from anabranch.blocks.s3.endpoint import S3Endpoint  # noqa: PLC0415  slow to import
        from anabranch.blocks.s3.store import s3_blocks  # noqa: PLC0415

    settings = blockstore.s3
    region = settings.region or os.environ.get("AWS_REGION", "")
    credentials = find_credentials(
        access_key_id=settings.credentials.access_key_id,
        secret_access_key=settings.credentials.secret_access_key,
        session_token=settings.credentials.session_token,
        profile=settings.profile,
        credentials_file=settings.credentials_file,
        region=region,
    )
    access = S3Endpoint(
        credentials,
        endpoint=_url("blockstore.s3.endpoint", settings.endpoint),
        region=region,
        path_style=settings.force_path_style,
        discover_region=settings.discover_bucket_region,
        public_endpoint=_url("blockstore.s3.pre_signed_endpoint", settings.pre_signed_endpoint),
    )
    return s3_blocks(
        access,
        retry_policy=_retry_policy(blockstore, settings.max_retries, observer),
        default_namespace_prefix=blockstore.default_namespace_prefix,
        pre_sign_support=not settings.disable_pre_signed,
        pre_sign_multipart_upload=not (
            settings.disable_pre_signed or settings.disable_pre_signed_multipart
        ),
    )


def _gs(blockstore: Blockstore, observer: StoreObserver) -> BlockStore:
    with report_missing_client("gcs"):
        from anabranch.blocks.gcs.store import gcs_blocks  # noqa: PLC0415

    credentials_json, file = blockstore.gs.credentials_json, blockstore.gs.credentials_file
    if not credentials_json and not file:
        file = os.environ.get("GOOGLE_APPLICATION_CREDENTIALS", "")
    return gcs_blocks(
        credentials_json=credentials_json,
        credentials_file=file,
        endpoint=_url("STORAGE_EMULATOR_HOST", os.environ.get("STORAGE_EMULATOR_HOST", "")),
        retry_policy=_retry_policy(blockstore, RetryPolicy().retries, observer),
        default_namespace_prefix=blockstore.default_namespace_prefix,
        pre_sign_support=not blockstore.gs.disable_pre_signed,
    )


def _azure(blockstore: Blockstore, observer: StoreObserver) -> BlockStore:
    with report_missing_client("azure"):
        from anabranch.blocks.azure.store import azure_blocks  # noqa: PLC0415

    settings = blockstore.azure
    return azure_blocks(
        account=settings.storage_account,
        access_key=settings.storage_access_key,
        domain=settings.domain,
        endpoint=_url("blockstore.azure.test_endpoint_url", settings.test_endpoint_url),
        retry_policy=_retry_policy(blockstore, RetryPolicy().retries, observer),
        default_namespace_prefix=blockstore.default_namespace_prefix,
        pre_sign_support=not settings.disable_pre_signed,
    )


_REMOTE = {"s3": _s3, "gs": _gs, "azure": _azure}


def _retry_policy(blockstore: Blockstore, retries: int, observer: StoreObserver) -> RetryPolicy:
    seconds = float(blockstore.timeout)
    default = RetryPolicy()
    return RetryPolicy(
        deadline=seconds,
        retries=retries,
        read_timeout=min(default.read_timeout, seconds),
        connect_timeout=min(default.connect_timeout, seconds),
        observer=observer,
    )


def _url(name: str, url: str) -> str:
    """Returns the URL of a server, or the empty string. Raises Invalid for any other text; `name`
    is that of the setting.
    """
    parts = urlsplit(url)
    if url and (parts.scheme not in {"http", "https"} or not parts.netloc):
        raise Invalid(
            f"{name} is {url!r}, which is not an HTTP URL",
            kind="invalid_settings",
            hint="Write it with its scheme, such as https://minio.example.com:9000.",
        )
    return url
