"""The block store that the settings ask for, opened.

The library that speaks to object stores is imported only where one is asked for.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from urllib.parse import urlsplit

from anabranch.blocks.contract import BlockStore
from anabranch.blocks.local import LocalBlocks
from anabranch.blocks.memory import MemoryBlocks
from anabranch.blocks.patience import Patience
from anabranch.errors import Invalid
from anabranch.server.blockstore_settings import Blockstore

__all__ = ["open_blocks", "presigned_seconds"]


def open_blocks(blockstore: Blockstore, environment: Mapping[str, str] = os.environ) -> BlockStore:
    """Returns the store, opened; nothing is asked of an object store yet. `environment` may hold
    credentials, by the names that the makers of stores give them.

    Raises Invalid for settings it cannot be opened with, and what the store raises.
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
    return _REMOTE[blockstore.type](blockstore, environment)


def presigned_seconds(blockstore: Blockstore) -> float:
    """Returns how long the store's presigned URLs are good."""
    seconds = {
        "s3": blockstore.s3.pre_signed_expiry,
        "gs": blockstore.gs.pre_signed_expiry,
        "azure": blockstore.azure.pre_signed_expiry,
    }
    return seconds.get(blockstore.type, blockstore.local.pre_signed_expiry)


def _s3(blockstore: Blockstore, environment: Mapping[str, str]) -> BlockStore:
    from anabranch.blocks.s3_access import S3Access  # noqa: PLC0415  slow to import
    from anabranch.blocks.s3_credentials import find_credentials  # noqa: PLC0415
    from anabranch.blocks.s3_store import s3_blocks  # noqa: PLC0415

    settings = blockstore.s3
    region = settings.region or environment.get("AWS_REGION", "")
    credentials = find_credentials(
        environment,
        access_key_id=settings.credentials.access_key_id,
        secret_access_key=settings.credentials.secret_access_key,
        session_token=settings.credentials.session_token,
        profile=settings.profile,
        credentials_file=settings.credentials_file,
        region=region,
    )
    access = S3Access(
        credentials,
        endpoint=_url("blockstore.s3.endpoint", settings.endpoint),
        region=region,
        path_style=settings.force_path_style,
        discover_region=settings.discover_bucket_region,
        public_endpoint=_url("blockstore.s3.pre_signed_endpoint", settings.pre_signed_endpoint),
    )
    return s3_blocks(
        access,
        patience=_patience(blockstore, settings.max_retries),
        default_namespace_prefix=blockstore.default_namespace_prefix,
        pre_sign_support=not settings.disable_pre_signed,
        pre_sign_multipart_upload=not (
            settings.disable_pre_signed or settings.disable_pre_signed_multipart
        ),
    )


def _gs(blockstore: Blockstore, environment: Mapping[str, str]) -> BlockStore:
    from anabranch.blocks.gcs_store import gcs_blocks  # noqa: PLC0415

    given = {
        "google_service_account_key": blockstore.gs.credentials_json.reveal(),
        "google_service_account": blockstore.gs.credentials_file,
        "google_application_credentials": environment.get("GOOGLE_APPLICATION_CREDENTIALS", ""),
    }
    identity = next(({name: value} for name, value in given.items() if value), {})
    return gcs_blocks(
        identity,
        endpoint=_url("STORAGE_EMULATOR_HOST", environment.get("STORAGE_EMULATOR_HOST", "")),
        patience=_patience(blockstore, Patience().retries),
        default_namespace_prefix=blockstore.default_namespace_prefix,
        pre_sign_support=not blockstore.gs.disable_pre_signed,
    )


def _azure(blockstore: Blockstore, environment: Mapping[str, str]) -> BlockStore:
    from anabranch.blocks.azure_store import azure_blocks  # noqa: PLC0415

    settings = blockstore.azure
    return azure_blocks(
        account=settings.storage_account,
        access_key=settings.storage_access_key,
        identity={
            name: environment[variable]
            for variable, name in _AZURE_IDENTITY.items()
            if environment.get(variable)
        },
        domain=settings.domain,
        endpoint=_url("blockstore.azure.test_endpoint_url", settings.test_endpoint_url),
        patience=_patience(blockstore, Patience().retries),
        default_namespace_prefix=blockstore.default_namespace_prefix,
        pre_sign_support=not settings.disable_pre_signed,
    )


_REMOTE = {"s3": _s3, "gs": _gs, "azure": _azure}

_AZURE_IDENTITY = {
    "AZURE_CLIENT_ID": "client_id",
    "AZURE_CLIENT_SECRET": "client_secret",
    "AZURE_TENANT_ID": "tenant_id",
    "AZURE_FEDERATED_TOKEN_FILE": "federated_token_file",
    "AZURE_AUTHORITY_HOST": "authority_host",
}
"""What Azure's tools call it, and obstore."""


def _patience(blockstore: Blockstore, retries: int) -> Patience:
    seconds = float(blockstore.timeout)
    usual = Patience()
    return Patience(
        deadline_seconds=seconds,
        retries=retries,
        silence_seconds=min(usual.silence_seconds, seconds),
        connect_seconds=min(usual.connect_seconds, seconds),
    )


def _url(name: str, url: str) -> str:
    """Returns the URL of a server. Raises Invalid for what is none."""
    parts = urlsplit(url)
    if url and (parts.scheme not in {"http", "https"} or not parts.netloc):
        raise Invalid(
            f"{name} is {url!r}, which is no URL",
            kind="invalid_settings",
            hint="Write it with its scheme, such as https://minio.example.com:9000.",
        )
    return url
