"""The token of a client: OAuth's client credentials, which are an access key and its secret.

Clients of the JVM also exchange a token before it ends. They get the same token, so that none lives
longer than a login may; once it has ended, they send the access key again.
"""

from __future__ import annotations

import base64
from urllib.parse import parse_qs

import msgspec

from anabranch.audit.log import RequestAudit
from anabranch.errors import Throttled, Unauthenticated
from anabranch.http.request_head import RequestHead
from anabranch.http.response import Response
from anabranch.iceberg.error_responses import JSON
from anabranch.iceberg.services import Services

__all__ = ["sign_in"]

_EXCHANGE = "urn:ietf:params:oauth:grant-type:token-exchange"
_TOKEN_TYPE = "urn:ietf:params:oauth:token-type:access_token"  # noqa: S105  a name


def sign_in(
    services: Services, head: RequestHead, content: bytes, audit: RequestAudit | None
) -> Response:
    """Returns the response to a request for a token; errors are in OAuth's form."""
    form = parse_qs(content.decode("utf-8", "replace"))
    grant = form.get("grant_type", [""])[0]
    key, secret = _pair(form, head)
    if grant == _EXCHANGE and not key:
        return _exchange(services, form.get("subject_token", [""])[0], head.client)
    if grant not in {"client_credentials", _EXCHANGE}:
        return _refusal(400, "unsupported_grant_type", "use client_credentials")
    try:
        issued = services.access.authenticator.login(key, secret, head.client)
    except Throttled as error:
        response = _refusal(429, "slow_down", error.message)
        response.headers = [("Retry-After", str(error.retry_after))]
        return response
    except Unauthenticated as error:
        if audit is not None:
            audit.refused(error.kind, key)
        return _refusal(401, "invalid_client", "the access key or its secret is wrong")
    if audit is not None:
        audit.logged_in(issued.username)
    return _answer(services, issued.token.reveal(), issued.expires_at)


def _exchange(services: Services, token: str, client: str) -> Response:
    try:
        services.access.authenticator.authenticate(f"Bearer {token}", address=client)
        verified = services.access.tokens.verify(token)
    except Unauthenticated:
        return _refusal(401, "invalid_grant", "the token is not valid any more")
    return _answer(services, token, verified.expires_at)


def _answer(services: Services, token: str, expires_at: float) -> Response:
    fields = {
        "access_token": token,
        "token_type": "bearer",
        "expires_in": max(0, int(expires_at - services.clock())),
        "issued_token_type": _TOKEN_TYPE,
    }
    return Response(200, msgspec.json.encode(fields), content_type=JSON)


def _pair(form: dict[str, list[str]], head: RequestHead) -> tuple[str, str]:
    scheme, _, proof = head.headers.get("authorization", "").partition(" ")
    if scheme.lower() == "basic":
        try:
            key, _, secret = base64.b64decode(proof, validate=True).decode().partition(":")
        except ValueError:
            return "", ""
        return key, secret
    return form.get("client_id", [""])[0], form.get("client_secret", [""])[0]


def _refusal(status: int, error: str, description: str) -> Response:
    body = msgspec.json.encode({"error": error, "error_description": description})
    return Response(status, body, content_type=JSON)
