"""Check that the store can presign URLs, with which clients transfer bytes without the server."""

from __future__ import annotations

from anabranch.blocks.contract import BlockStore
from anabranch.errors import AnabranchError
from anabranch.server.doctor.check_result import CheckResult, State

__all__ = ["check_presigned"]

ABOUT = "blocks"
_SECONDS = 60
_KEYS = {
    "gs": "Give the server a service account's key: blockstore.gs.credentials_file.",
    "azure": (
        "Give the server the account's access key, or its identity the role Storage Blob "
        "Delegator on the account."
    ),
}
"""Hints for stores that cannot presign, by their type."""


def check_presigned(store: BlockStore, bucket: str, address: str) -> list[CheckResult]:
    """Presigns a URL of an address in a bucket. Stores without presigned URLs are not checked."""
    kind = store.config.blockstore_type
    if kind in {"local", "mem"} or not store.config.pre_sign_support:
        return []
    try:
        url = store.presign(address, "GET", _SECONDS)
    except AnabranchError as error:
        message = f"cannot sign URLs for {bucket}: {error.message}"
        return [CheckResult(ABOUT, State.WRONG, message, error.hint or "")]
    if url is None:
        message = f"no key can sign URLs for {bucket}: clients read through the server"
        return [CheckResult(ABOUT, State.DOUBTFUL, message, _KEYS.get(kind, ""))]
    return [CheckResult(ABOUT, State.SOUND, f"clients can get presigned URLs of {bucket}")]
