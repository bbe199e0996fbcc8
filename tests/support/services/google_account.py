"""A service account of Google's for tests, and whether a URL is signed with its key.

No emulator looks at signatures. What is signed is put together here by botocore, which knows
nothing of how we do it, from the request as it was sent.
"""

from __future__ import annotations

import hashlib
import json
import re
from datetime import UTC, datetime, timedelta
from typing import NamedTuple
from urllib.parse import parse_qs

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey, generate_private_key
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
)

__all__ = ["GoogleAccount", "without_signature"]

_ALGORITHM = "GOOG4-RSA-SHA256"
_SIGNATURE = re.compile(r"&?X-Goog-Signature=([0-9a-f]*)")
_PARAMETER = re.compile(r"&?X-Goog-[A-Za-z]+=[^&]*")


class GoogleAccount(NamedTuple):
    """An account and its key."""

    email: str
    key: RSAPrivateKey

    @classmethod
    def new(cls) -> GoogleAccount:
        """Makes one."""
        key = generate_private_key(public_exponent=65537, key_size=2048)
        return cls("lake@project.iam.gserviceaccount.com", key)

    @property
    def file(self) -> str:
        """What Google gives for it."""
        pem = self.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        claims = {
            "type": "service_account",
            "client_email": self.email,
            "private_key": pem.decode(),
            "private_key_id": "1",
        }
        return json.dumps(claims)

    def admits(self, method: str, host: str, path: str, query: str) -> bool:
        """Returns whether a request with a signed URL, given as it was sent, may be made now."""
        from botocore.auth import S3SigV4QueryAuth
        from botocore.awsrequest import AWSRequest
        from botocore.credentials import Credentials

        given = {name: values[0] for name, values in parse_qs(query).items()}
        signature = _SIGNATURE.search(query)
        date = given.get("X-Goog-Date", "")
        scope = f"{date[:8]}/auto/storage/goog4_request"
        who = given.get("X-Goog-Credential"), given.get("X-Goog-Algorithm")
        if signature is None or who != (f"{self.email}/{scope}", _ALGORITHM):
            return False
        try:
            begins = datetime.strptime(date, "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
            ends = begins + timedelta(seconds=int(given["X-Goog-Expires"]))
        except (KeyError, ValueError):
            return False
        if datetime.now(UTC) >= ends:
            return False
        url = f"http://{host}{path}?{_SIGNATURE.sub('', query)}"
        request = AWSRequest(method, url, headers={"Host": host})
        auth = S3SigV4QueryAuth(Credentials("any", "any"), "s3", "auto")
        canonical = hashlib.sha256(auth.canonical_request(request).encode()).hexdigest()
        text = f"{_ALGORITHM}\n{date}\n{scope}\n{canonical}".encode()
        public = self.key.public_key()
        try:
            public.verify(bytes.fromhex(signature[1]), text, PKCS1v15(), hashes.SHA256())
        except (InvalidSignature, ValueError):
            return False
        return True


def without_signature(query: str) -> str:
    """Returns a query without what signs it."""
    return _PARAMETER.sub("", query).removeprefix("&")
