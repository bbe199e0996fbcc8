"""Shared access signatures of Azure's blob storage, for one blob.

They are made with an account's access key, or with a user delegation key that is valid for some
time. They cover the blob, the permissions and the expiry, but not the method. The permission to
create (`c`) allows storing the blob once; the permission to read (`r`) allows no change.
[Microsoft, "Create a service SAS", "Create a user delegation SAS", the forms of version 2020-12-06]
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
from anabranch.signing.timestamps import iso_time

__all__ = ["AzureSigner", "Delegation", "sas_query"]

_VERSION = "2020-12-06"
_BLOB = "b"


class Delegation(NamedTuple):
    """Identity and validity of a user delegation key, as Azure returns them with the key."""

    object_id: str
    tenant_id: str
    start: str
    expiry: str
    service: str
    version: str

    @property
    def parameters(self) -> dict[str, str]:
        """The URL parameters of the delegation."""
        return dict(zip(("skoid", "sktid", "skt", "ske", "sks", "skv"), self, strict=True))


class AzureSigner(NamedTuple):
    """A storage account and a key in base64: the account's, or with `delegation` an identity's."""

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
    """Returns the query of a URL that permits the use of a blob, whose name is not encoded, until
    `expires`, in seconds since 1970; with `https` only over TLS.

    `permissions` are among `rcwd`: read, create, write, delete; in this order. No start is signed,
    as Azure's clock may be behind ours. Raises Invalid for a key that is not base64.
    """
    until, protocol, who = iso_time(expires), "https" if https else "", signer.delegation
    # account key: no stored policy; user delegation key: no authorized agent, no correlation id
    named = [""] if who is None else [*who, "", "", ""]
    signed = [permissions, "", until, f"/blob/{signer.account}/{container}/{blob}", *named]
    signed += ["", protocol, _VERSION, _BLOB]
    signed += [""] * 7  # snapshot, encryption scope, five response headers
    try:
        key = base64.b64decode(signer.key.reveal(), validate=True)
    except binascii.Error as error:
        raise Invalid(
            f"the access key of the storage account {signer.account!r} is not in base64",
            kind="invalid_settings",
            hint="Copy it unchanged from the account's page in the Azure portal.",
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
