"""Shared access signatures of Azure's blob storage, for one blob.

They are made with an account's access key, or with a key that an identity was given for a time to
sign on its behalf. What is signed names the blob, what may be done with it, and until when; not
the method. That it may only be made (`c`) permits storing it once, that it may be read (`r`) no
change. [Microsoft, "Create a service SAS", "Create a user delegation SAS", the forms of version
2020-12-06]
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
from typing import NamedTuple
from urllib.parse import quote

from anabranch.errors import Invalid
from anabranch.model.secret import Secret
from anabranch.signing.instants import iso_time

__all__ = ["AzureSigner", "Delegation", "sas_query"]

_VERSION = "2020-12-06"
_BLOB = "b"


class Delegation(NamedTuple):
    """Who a key signs for, and when it does, as Azure tells it with the key."""

    object_id: str
    tenant_id: str
    start: str
    expiry: str
    service: str
    version: str

    @property
    def parameters(self) -> dict[str, str]:
        """The parameters of a URL that tell of it."""
        return dict(zip(("skoid", "sktid", "skt", "ske", "sks", "skv"), self, strict=True))


class AzureSigner(NamedTuple):
    """A storage account, and a key in base64: the account's, unless it is somebody's."""

    account: str
    key: Secret
    delegation: Delegation | None = None


def sas_query(
    signer: AzureSigner,
    container: str,
    blob: str,
    permissions: str,
    *,
    expires: float,
    https: bool,
) -> str:
    """Returns the query of a URL at which a blob, named without encoding, may be used until
    `expires`, in seconds since 1970; with `https` over TLS alone.

    `permissions` are among `rcwd`: read, create, write, delete; in this order. No start is signed,
    as Azure's clock may be behind ours. Raises Invalid for a key that is no base64.
    """
    until, protocol, who = iso_time(expires), "https" if https else "", signer.delegation
    # an account's key: no stored policy; somebody's: no authorized agent, nor a correlation
    named = [""] if who is None else [*who, "", "", ""]
    signed = [permissions, "", until, f"/blob/{signer.account}/{container}/{blob}", *named]
    signed += ["", protocol, _VERSION, _BLOB]
    signed += [""] * 7  # snapshot, encryption scope, five headers of the answer
    try:
        key = base64.b64decode(signer.key.reveal(), validate=True)
    except binascii.Error as error:
        raise Invalid(
            f"the access key of the storage account {signer.account!r} is not in base64",
            kind="invalid_settings",
            hint="Take it from the account's page in Azure, as it is shown there.",
        ) from error
    text = "\n".join(signed).encode("utf-8", "surrogateescape")
    signature = base64.b64encode(hmac.digest(key, text, hashlib.sha256)).decode()
    parameters = {"sv": _VERSION, "sr": _BLOB, "sp": permissions, "se": until}
    if https:
        parameters["spr"] = protocol
    if who is not None:
        parameters |= who.parameters
    parameters["sig"] = signature
    return "&".join(f"{name}={quote(value, safe='')}" for name, value in parameters.items())
