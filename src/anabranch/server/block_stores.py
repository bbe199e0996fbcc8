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
        return MemoryBlocks()
    if blockstore.type == "local":
        return LocalBlocks(blockstore.local.path)
    return _s3(blockstore, environment)


def presigned_seconds(blockstore: Blockstore) -> float:
    """Returns how long the store's presigned URLs are good."""
    return (
        blockstore.s3.pre_signed_expiry
        if blockstore.type == "s3"
        else (blockstore.local.pre_signed_expiry)
    )


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
