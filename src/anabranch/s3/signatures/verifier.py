"""Verifies the signature of a request, in any of the supported formats.

A request has at most one signature, of version 4 or 2, in its header `Authorization` or in its
query. Other kinds of authentication (Basic, Bearer, a cookie) are not handled here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from anabranch.model.secret import Secret
from anabranch.s3.protocol.errors import S3Error
from anabranch.s3.signatures.presigned_v4 import verify_presigned
from anabranch.s3.signatures.signature_v2 import SCHEME, verify_header_v2, verify_presigned_v2
from anabranch.s3.signatures.signature_v4 import verify_header
from anabranch.s3.signatures.signed_policy import verify_policy
from anabranch.s3.signatures.verified import Verified
from anabranch.signing.canonical_v4 import ALGORITHM
from anabranch.signing.request import Request
from anabranch.signing.signing_keys import SigningKeys

__all__ = ["Verifier"]


class Verifier:
    """Verifier of signatures. `find_secret` returns the secret of an access key ID, None for an
    unknown one; `clock` returns seconds since 1970. Thread-safe.
    """

    def __init__(
        self, find_secret: Callable[[str], Secret | None], clock: Callable[[], float]
    ) -> None:
        self._find_secret = find_secret
        self._clock = clock
        self._keys = SigningKeys()

    def verify(self, request: Request) -> Verified | None:
        """Returns the verified signature of a request, None if it has none. Raises S3Error if the
        signature does not match, has expired, is not yet valid, or is malformed.
        """
        authorization = request.headers.get("authorization", "")
        in_header = authorization.startswith("AWS")
        version = _query_signature_version(request.query) if request.query else 0
        if not in_header and not version:
            return None
        if in_header and version:
            raise S3Error(
                "InvalidArgument",
                "Only one auth mechanism allowed; only the X-Amz-Algorithm query parameter, "
                "Signature query string parameter or the Authorization header should be specified",
            )
        now = self._clock()
        if version == 4:  # noqa: PLR2004  the version's own number
            return verify_presigned(request, now, self._find_secret, self._keys)
        if version:
            return verify_presigned_v2(request, now, self._find_secret)
        if authorization.partition(" ")[0] == ALGORITHM:
            return verify_header(request, now, self._find_secret, self._keys)
        if authorization.startswith(SCHEME):
            return verify_header_v2(request, now, self._find_secret)
        raise S3Error(
            "InvalidRequest",
            "The authorization mechanism you have provided is not supported. Please use "
            f"{ALGORITHM}.",
        )

    def verify_policy(self, fields: Mapping[str, str]) -> str:
        """Verifies the policy in a form's fields and returns the access key ID that signed it.
        `fields` have lower-case names. Raises S3Error.
        """
        return verify_policy(fields, self._find_secret, self._keys)


def _query_signature_version(query: str) -> int:
    """Returns the version of the signature in a query, 0 if there is none."""
    parts = f"&{query}"
    if (
        "&X-Amz-Signature=" in parts
        or "&X-Amz-Algorithm=" in parts
        or "&X-Amz-Credential=" in parts
    ):
        return 4
    return 2 if "&Signature=" in parts or "&AWSAccessKeyId=" in parts else 0
