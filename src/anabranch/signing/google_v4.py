"""Presigned URLs of Google Cloud Storage: version 4, signed with a service account's RSA key.

The canonical form is that of AWS's version 4; the algorithm, the scope and the parameters' names
are Google's own. Its XML interface takes such a URL for any method. [Google, "Signatures" and
"Canonical requests" of Cloud Storage's documentation]
"""

from __future__ import annotations

import hashlib
from urllib.parse import quote, urlsplit

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from anabranch.errors import Invalid
from anabranch.model.secret import Secret
from anabranch.signing.canonical_v4 import UNSIGNED, canonical_request
from anabranch.signing.request import Request
from anabranch.signing.timestamps import write_compact

__all__ = ["GoogleSigner", "presign_google"]

_ALGORITHM = "GOOG4-RSA-SHA256"
_SCOPE = "auto/storage/goog4_request"
"""Scope of a signature, without its date: any region."""


class GoogleSigner:
    """A service account: its `email` and its private key, which no representation contains."""

    __slots__ = ("_key", "email")

    def __init__(self, email: str, pem: Secret) -> None:
        """Raises Invalid unless `pem` is an RSA key in PEM."""
        try:
            key = load_pem_private_key(pem.reveal().encode(), None)
        except (ValueError, TypeError, UnsupportedAlgorithm) as error:
            raise _invalid_key(email) from error
        if not isinstance(key, RSAPrivateKey):
            raise _invalid_key(email)
        self.email = email
        self._key = key

    def sign(self, text: str) -> str:
        """Returns the signature of a text, in hexadecimal."""
        return self._key.sign(text.encode("latin-1"), PKCS1v15(), hashes.SHA256()).hex()


def presign_google(
    signer: GoogleSigner, method: str, url: str, *, time: float, expires: int
) -> str:
    """Returns the URL with parameters added that sign it for `expires` seconds from `time`, which
    is in seconds since 1970. Its path must be encoded by `encode_key`.
    """
    parts = urlsplit(url)
    timestamp = write_compact(time)
    scope = f"{timestamp[:8]}/{_SCOPE}"
    parameters = {
        "X-Goog-Algorithm": _ALGORITHM,
        "X-Goog-Credential": f"{signer.email}/{scope}",
        "X-Goog-Date": timestamp,
        "X-Goog-Expires": str(expires),
        "X-Goog-SignedHeaders": "host",
    }
    added = "&".join(f"{name}={quote(value, safe='')}" for name, value in parameters.items())
    query = f"{parts.query}&{added}" if parts.query else added
    request = Request.from_wire(method, parts.path, query, [("Host", parts.netloc)])
    canonical = canonical_request(request, "host", UNSIGNED)
    digest = hashlib.sha256(canonical.encode("latin-1")).hexdigest()
    signature = signer.sign(f"{_ALGORITHM}\n{timestamp}\n{scope}\n{digest}")
    return f"{parts.scheme}://{parts.netloc}{parts.path}?{query}&X-Goog-Signature={signature}"


def _invalid_key(email: str) -> Invalid:
    return Invalid(
        f"the private key of the service account {email!r} is not an RSA key in PEM",
        kind="invalid_settings",
        hint="Use the unchanged JSON file that Google issued for the service account.",
    )
