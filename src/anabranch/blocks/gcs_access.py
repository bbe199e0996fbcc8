"""How Google Cloud Storage is reached: the addresses of objects, and who we are.

With a service account's key we sign ourselves, for requests of our own and for URLs that clients
are given. Without one, only obstore knows how to show who we are.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec

from anabranch.blocks.object_addresses import Location
from anabranch.model.secret import Secret
from anabranch.signing.encoding import encode_key, encode_query
from anabranch.signing.google_v4 import GoogleSigner, presign_google

__all__ = ["GcsAccess", "find_signer"]

_HOST = "https://storage.googleapis.com"
_FILES = ("google_service_account", "google_application_credentials")


class _Key(msgspec.Struct):
    """What we read of the file that Google gives for a service account, and for others."""

    type: str = ""
    client_email: str = ""
    private_key: str = ""


def find_signer(identity: Mapping[str, str]) -> GoogleSigner | None:
    """Returns who signs, None where there is no service account's key: others are told of by
    files, too. `identity` is as `gcs_blocks` takes it. Raises Invalid for a key that is none.
    """
    text: str | bytes = identity.get("google_service_account_key", "")
    try:
        for name in _FILES:
            if identity.get(name):
                text = Path(identity[name]).read_bytes()
        key = msgspec.json.decode(text or b"{}", type=_Key)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
        return None  # obstore tells of it when the store is used
    if key.type not in {"", "service_account"} or not (key.client_email and key.private_key):
        return None
    return GoogleSigner(key.client_email, Secret(key.private_key))


class GcsAccess:
    """Addresses and signatures. `clock` gives seconds since 1970."""

    def __init__(
        self,
        signer: GoogleSigner,
        endpoint: str = "",
        *,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._signer = signer
        self._endpoint = endpoint.rstrip("/") or _HOST
        self._clock = clock

    def presigned(
        self, method: str, location: Location, query: Mapping[str, str], seconds: int
    ) -> str:
        """Returns a URL at which whoever has it can make one request, for so long."""
        path = f"/{location.bucket}/{encode_key(location.key)}"
        url = self._endpoint + path + encode_query(query)
        return presign_google(self._signer, method, url, time=self._clock(), expires=seconds)
