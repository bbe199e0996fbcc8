"""Finds the signature that a request carries, and has it checked.

A request carries one signature at most: of version 4 or 2, in its header `Authorization` or in
its query. Other ways to say who asks (Basic, Bearer, a cookie) are not looked at here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from anabranch.model.secret import Secret
from anabranch.s3.errors import S3Error
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
    """Checks signatures with the secrets that `secret_of` knows, by the time of `clock`, in
    seconds since 1970. Safe for use from many threads.
    """

    def __init__(
        self, secret_of: Callable[[str], Secret | None], clock: Callable[[], float]
    ) -> None:
        self._secret_of = secret_of
        self._clock = clock
        self._keys = SigningKeys()

    def verify(self, request: Request) -> Verified | None:
        """Returns whose signature a request carries, or None if it carries none. Raises S3Error
        for one that is wrong, too old or too new, or not understood.
        """
        authorization = request.headers.get("authorization", "")
        of_header = authorization.startswith("AWS")
        version = _version_in_query(request.query) if request.query else 0
        if not of_header and not version:
            return None
        if of_header and version:
            raise S3Error(
                "InvalidArgument",
                "Only one auth mechanism allowed; only the X-Amz-Algorithm query parameter, "
                "Signature query string parameter or the Authorization header should be specified",
            )
        now = self._clock()
        if version == 4:  # noqa: PLR2004  the version's own number
            return verify_presigned(request, now, self._secret_of, self._keys)
        if version:
            return verify_presigned_v2(request, now, self._secret_of)
        if authorization.partition(" ")[0] == ALGORITHM:
            return verify_header(request, now, self._secret_of, self._keys)
        if authorization.startswith(SCHEME):
            return verify_header_v2(request, now, self._secret_of)
        raise S3Error(
            "InvalidRequest",
            "The authorization mechanism you have provided is not supported. Please use "
            f"{ALGORITHM}.",
        )

    def verify_policy(self, fields: Mapping[str, str]) -> str:
        """Returns the access key of who signed the policy among a form's fields, by their names in
        lower case. Raises S3Error.
        """
        return verify_policy(fields, self._secret_of, self._keys)


def _version_in_query(query: str) -> int:
    """Returns the version of the signature in a query, or 0."""
    parts = f"&{query}"
    if (
        "&X-Amz-Signature=" in parts
        or "&X-Amz-Algorithm=" in parts
        or "&X-Amz-Credential=" in parts
    ):
        return 4
    return 2 if "&Signature=" in parts or "&AWSAccessKeyId=" in parts else 0
