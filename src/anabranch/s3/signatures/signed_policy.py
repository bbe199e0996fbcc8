"""Policies of uploads by forms: a field of the form, signed by other fields.

    policy  x-amz-algorithm  x-amz-credential  x-amz-date  x-amz-signature      version 4
    policy  AWSAccessKeyId  signature                                           version 2

What is signed is the base64 of the policy, as it stands in the form.
"""

from __future__ import annotations

import base64
import hmac
from collections.abc import Callable, Mapping

from anabranch.model.secret import Secret
from anabranch.s3.errors import S3Error
from anabranch.signing.canonical_v4 import ALGORITHM
from anabranch.signing.credential_scope import parse_credential
from anabranch.signing.instants import parse_compact
from anabranch.signing.signing_keys import SigningKeys, derive

__all__ = ["verify_policy"]

_V4 = ("x-amz-algorithm", "x-amz-credential", "x-amz-date", "x-amz-signature")
_V2 = ("awsaccesskeyid", "signature")


def verify_policy(
    fields: Mapping[str, str], secret_of: Callable[[str], Secret | None], keys: SigningKeys
) -> str:
    """Returns the access key of who signed the policy that a form has among its fields, by their
    names in lower case.

    Raises S3Error: AccessDenied for a form that nobody signed, InvalidArgument for one whose
    fields are not complete or not understood, InvalidAccessKeyId, SignatureDoesNotMatch.
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
    signed, proof = (_signed_v4 if names is _V4 else _signed_v2)(fields, secret_of, keys)
    if not hmac.compare_digest(signed.encode(), proof.encode()):
        raise S3Error(
            "SignatureDoesNotMatch", StringToSign=fields["policy"], SignatureProvided=proof
        )
    return fields["awsaccesskeyid"] if names is _V2 else fields["x-amz-credential"].split("/")[0]


def _signed_v4(
    fields: Mapping[str, str], secret_of: Callable[[str], Secret | None], keys: SigningKeys
) -> tuple[str, str]:
    """Returns the signature that the policy should have, and the one that it has."""
    if fields["x-amz-algorithm"] != ALGORITHM:
        raise _wrong(fields, "x-amz-algorithm", f"X-Amz-Algorithm only supports {ALGORITHM}")
    credential = fields["x-amz-credential"]
    access_key_id, scope = parse_credential(credential, _wrong_credential)
    date = fields["x-amz-date"]
    if parse_compact(date) is None or scope.date != date[:8]:
        raise _wrong(fields, "x-amz-date", "X-Amz-Date must be the date of the credential")
    secret = _known(access_key_id, secret_of)
    key = keys.find(secret, scope) or derive(secret, scope)
    signature = hmac.digest(key, fields["policy"].encode(), "sha256").hex()
    return signature, fields["x-amz-signature"]


def _signed_v2(
    fields: Mapping[str, str], secret_of: Callable[[str], Secret | None], _: SigningKeys
) -> tuple[str, str]:
    secret = _known(fields["awsaccesskeyid"], secret_of)
    digest = hmac.digest(secret.reveal().encode(), fields["policy"].encode(), "sha1")
    return base64.b64encode(digest).decode(), fields["signature"]


def _known(access_key_id: str, secret_of: Callable[[str], Secret | None]) -> Secret:
    secret = secret_of(access_key_id)
    if secret is None:
        raise S3Error("InvalidAccessKeyId", AWSAccessKeyId=access_key_id)
    return secret


def _wrong(fields: Mapping[str, str], name: str, message: str) -> S3Error:
    return S3Error("InvalidArgument", message, ArgumentName=name, ArgumentValue=fields[name])


def _wrong_credential(reason: str) -> S3Error:
    return S3Error(
        "InvalidArgument",
        f"Error parsing the X-Amz-Credential field; {reason}",
        ArgumentName="x-amz-credential",
    )
