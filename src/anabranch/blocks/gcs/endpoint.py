"""Endpoint of Google Cloud Storage: URLs signed with a service account's key."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

import msgspec

from anabranch.blocks.cloud.addresses import Location
from anabranch.errors import Invalid
from anabranch.model.secret import Secret
from anabranch.signing.encoding import encode_key, encode_query
from anabranch.signing.google_v4 import GoogleSigner, presign_google

__all__ = ["GcsEndpoint", "find_signer"]

_HOST = "https://storage.googleapis.com"


class _Key(msgspec.Struct):
    """Fields of a JSON document of Google's credentials."""

    type: str = ""
    client_email: str = ""
    private_key: str = ""


_DECODER = msgspec.json.Decoder(_Key)


def find_signer(credentials_json: Secret) -> GoogleSigner | None:
    """Returns a signer for a service account's key; None for other credentials, and without any.
    Raises Invalid for a malformed key.
    """
    try:
        key = _DECODER.decode(credentials_json.reveal() or "{}")
    except msgspec.MsgspecError:
        raise Invalid(
            "Google's credentials are not a valid JSON document",
            kind="invalid_settings",
            hint="Give the JSON file of a service account's key as it was downloaded.",
        ) from None  # the cause may quote it
    if key.type not in {"", "service_account"} or not (key.client_email and key.private_key):
        return None
    return GoogleSigner(key.client_email, Secret(key.private_key))


class GcsEndpoint:
    """Presigned URLs. `clock` gives seconds since 1970."""

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
        """Returns a presigned URL for one method, valid for `seconds`."""
        path = f"/{location.bucket}/{encode_key(location.key)}"
        url = self._endpoint + path + encode_query(query)
        return presign_google(self._signer, method, url, time=self._clock(), expires=seconds)
