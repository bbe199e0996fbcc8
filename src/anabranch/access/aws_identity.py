"""Identities of AWS: a client proves its IAM role by a signed request to AWS's token service.

The client signs GetCallerIdentity, with the credentials that its machine has, but does not send it.
It sends the parts of the request instead:

    base64 of {"method": "POST", "host": "sts.eu-central-1.amazonaws.com", "region": …,
               "action": "GetCallerIdentity", "version": …, "algorithm": …, "date": …,
               "expiration_duration": …, "access_key_id": …, "signature": …,
               "signed_headers": […], "security_token": …}

The server sends the request to the token service, which verifies the signature and responds with
the caller's ARN. The signature must cover a header with a value of this installation, so that a
request that was signed for another service is of no use here.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from urllib.parse import urlencode

import msgspec

from anabranch.access.oidc.provider_requests import ProviderRequests
from anabranch.errors import Busy, Unauthenticated

__all__ = ["AwsIdentities", "AwsIdentitySettings", "identity_token", "principals_of"]

_MAX_TOKEN_LENGTH = 16 * 1024
_OK, _SERVER_ERRORS = 200, 500
_FUTURE_SECONDS = 300
_ARN = re.compile(rb"<Arn>\s*(arn:[!-;=-~]{1,2000}?)\s*</Arn>")
_SESSION = re.compile(r"(arn:[\w-]+:sts::\d+:assumed-role/.+)/[^/]+")
_AMAZON = re.compile(r"sts(\.[a-z0-9-]+)?\.amazonaws\.com(\.cn)?")
_WORD = re.compile(r"[\w.:/+=-]{1,256}")


class AwsIdentitySettings(msgspec.Struct, frozen=True, kw_only=True):
    """`hosts` are the token services that requests may be for, empty for Amazon's; `endpoint` is a
    URL to which they are sent instead, empty for `https://HOST`. A signature must cover the
    `required_headers`, with these values, and be at most `max_age` seconds old. `timeout` is that
    of the token service, in seconds.
    """

    required_headers: tuple[tuple[str, str], ...]
    hosts: tuple[str, ...] = ()
    endpoint: str = ""
    max_age: float = 900.0
    timeout: float = 10.0


class _Parts(msgspec.Struct, frozen=True):
    """The parts of a signed request."""

    host: str
    region: str
    date: str
    expiration_duration: str | int
    access_key_id: str
    signature: str
    signed_headers: list[str]
    method: str = "POST"
    action: str = "GetCallerIdentity"
    version: str = "2011-06-15"
    algorithm: str = "AWS4-HMAC-SHA256"
    security_token: str | None = None


_DECODER = msgspec.json.Decoder(_Parts)


class AwsIdentities:
    """Verifies identities with AWS's token service. `clock` returns seconds since 1970."""

    def __init__(self, settings: AwsIdentitySettings, clock: Callable[[], float]) -> None:
        self._settings = settings
        self._clock = clock
        self._requests = ProviderRequests(settings.timeout)

    def verify(self, token: str) -> str:
        """Returns the ARN of the caller who signed the request in a token. Raises Unauthenticated
        if the token is malformed, too old, or refused by the token service, and Busy if that cannot
        be reached.
        """
        parts = _parse(token)
        self._check(parts)
        base = self._settings.endpoint or f"https://{parts.host}"
        query = {
            "Action": parts.action,
            "Version": parts.version,
            "X-Amz-Algorithm": parts.algorithm,
            "X-Amz-Credential": (
                f"{parts.access_key_id}/{parts.date[:8]}/{parts.region}/sts/aws4_request"
            ),
            "X-Amz-Date": parts.date,
            "X-Amz-Expires": str(parts.expiration_duration),
            "X-Amz-SignedHeaders": ";".join(parts.signed_headers),
            "X-Amz-Signature": parts.signature,
        }
        if parts.security_token:
            query["X-Amz-Security-Token"] = parts.security_token
        headers = dict(self._settings.required_headers)
        response = self._requests.post_form(f"{base}/?{urlencode(query)}", {}, headers)
        if response.status >= _SERVER_ERRORS:
            raise Busy(
                f"the token service of AWS responded with {response.status}",
                kind="token_service_unavailable",
            )
        arns = _ARN.findall(response.body)
        if response.status != _OK or len(arns) != 1:
            raise _refusal(f"the token service responded with {response.status}")
        arn: bytes = arns[0]
        return arn.decode()

    def _check(self, parts: _Parts) -> None:
        if (parts.method, parts.action) != ("POST", "GetCallerIdentity"):
            raise _refusal("it is not GetCallerIdentity")
        hosts = self._settings.hosts
        if parts.host not in hosts if hosts else not _AMAZON.fullmatch(parts.host):
            raise _refusal("it is for a token service that is not configured")
        words = (parts.region, parts.access_key_id, parts.signature, parts.algorithm)
        if not all(_WORD.fullmatch(word) for word in (*words, *parts.signed_headers)):
            raise _refusal("a part of it is malformed")
        signed = {name.lower() for name in parts.signed_headers}
        missing = [
            name for name, _ in self._settings.required_headers if name.lower() not in signed
        ]
        if missing:
            raise _refusal(f"its signature does not cover {', '.join(missing)}")
        try:
            signed_at = datetime.strptime(parts.date, "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
        except ValueError:
            raise _refusal("its date is malformed") from None
        age = self._clock() - signed_at.timestamp()
        if not -_FUTURE_SECONDS <= age <= self._settings.max_age:
            raise _refusal("it is too old; are the clocks right?")


def principals_of(arn: str) -> tuple[str, ...]:
    """Returns the principals that a caller may be known as: the ARN and, for a session of a role,
    that without the session's name.
    """
    session = _SESSION.fullmatch(arn)
    return (arn,) if session is None else (arn, session[1])


def identity_token(request: Mapping[str, object]) -> str:
    """Returns the token in the body of a login; raises Unauthenticated."""
    token = request.get("identity_token")
    if not isinstance(token, str):
        raise _refusal("it has no identity_token")
    return token


def _parse(token: str) -> _Parts:
    if len(token) > _MAX_TOKEN_LENGTH:
        raise _refusal("it cannot be read")
    try:
        return _DECODER.decode(base64.b64decode(token, validate=True))
    except (ValueError, RecursionError):
        raise _refusal("it cannot be read") from None


def _refusal(reason: str) -> Unauthenticated:
    return Unauthenticated(
        f"the identity of AWS cannot be verified: {reason}",
        kind="invalid_aws_identity",
        hint="Sign the request again, with the headers that the administrator names.",
    )
