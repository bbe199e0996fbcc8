"""Verification of the signed policy of a form upload, from the fields of the form.

    policy  x-amz-algorithm  x-amz-credential  x-amz-date  x-amz-signature      version 4
    policy  AWSAccessKeyId  signature                                           version 2

The signature covers the base64 of the policy as it is sent in the form.
"""

from __future__ import annotations

import base64
import hmac
from collections.abc import Callable, Mapping

from anabranch.model.secret import Secret
from anabranch.s3.protocol.errors import S3Error
from anabranch.signing.canonical_v4 import ALGORITHM
from anabranch.signing.credential_scope import parse_credential
from anabranch.signing.signing_keys import SigningKeys, derive
from anabranch.signing.timestamps import parse_compact

__all__ = ["verify_policy"]

_V4 = ("x-amz-algorithm", "x-amz-credential", "x-amz-date", "x-amz-signature")
_V2 = ("awsaccesskeyid", "signature")


def verify_policy(
    fields: Mapping[str, str], find_secret: Callable[[str], Secret | None], keys: SigningKeys
) -> str:
    """Verifies the signature of a form's policy and returns the access key ID that signed it.
    `fields` have lower-case names.

    Raises S3Error: AccessDenied for an unsigned form, InvalidArgument for missing or malformed
    fields, InvalidAccessKeyId, SignatureDoesNotMatch.
    """
    if not fields.keys() & {"policy", *_V4, *_V2}:
        raise S3Error("AccessDenied")
    names = _V4 if fields.keys() & set(_V4) else _V2
    for name in ("policy", *names):
        if not fields.get(name):
            raise S3Error(
                "InvalidArgument",
                f"Bucket POST must contain a field named '{name}'.  If it is specified, please "
                "check the order of the fields.",
                ArgumentName=name,
                ArgumentValue="",
            )
    compute = _signatures_v4 if names is _V4 else _signatures_v2
    expected, provided = compute(fields, find_secret, keys)
    if not hmac.compare_digest(expected.encode(), provided.encode()):
        raise S3Error(
            "SignatureDoesNotMatch", StringToSign=fields["policy"], SignatureProvided=provided
        )
    return fields["awsaccesskeyid"] if names is _V2 else fields["x-amz-credential"].split("/")[0]


def _signatures_v4(
    fields: Mapping[str, str], find_secret: Callable[[str], Secret | None], keys: SigningKeys
) -> tuple[str, str]:
    """Returns the expected and the provided signature of the policy."""
    if fields["x-amz-algorithm"] != ALGORITHM:
        raise _invalid_argument(
            fields, "x-amz-algorithm", f"X-Amz-Algorithm only supports {ALGORITHM}"
        )
    credential = fields["x-amz-credential"]
    access_key_id, scope = parse_credential(credential, _credential_error)
    date = fields["x-amz-date"]
    if parse_compact(date) is None or scope.date != date[:8]:
        raise _invalid_argument(
            fields, "x-amz-date", "X-Amz-Date must be the date of the credential"
        )
    secret = _require_secret(access_key_id, find_secret)
    key = keys.find(secret, scope) or derive(secret, scope)
    signature = hmac.digest(key, fields["policy"].encode(), "sha256").hex()
    return signature, fields["x-amz-signature"]


def _signatures_v2(
    fields: Mapping[str, str], find_secret: Callable[[str], Secret | None], _: SigningKeys
) -> tuple[str, str]:
    secret = _require_secret(fields["awsaccesskeyid"], find_secret)
    digest = hmac.digest(secret.reveal().encode(), fields["policy"].encode(), "sha1")
    return base64.b64encode(digest).decode(), fields["signature"]


def _require_secret(access_key_id: str, find_secret: Callable[[str], Secret | None]) -> Secret:
    secret = find_secret(access_key_id)
    if secret is None:
        raise S3Error("InvalidAccessKeyId", AWSAccessKeyId=access_key_id)
    return secret


def _invalid_argument(fields: Mapping[str, str], name: str, message: str) -> S3Error:
    return S3Error("InvalidArgument", message, ArgumentName=name, ArgumentValue=fields[name])


def _credential_error(reason: str) -> S3Error:
    return S3Error(
        "InvalidArgument",
        f"Error parsing the X-Amz-Credential field; {reason}",
        ArgumentName="x-amz-credential",
    )
