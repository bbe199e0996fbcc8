"""The token of a client: OAuth's client credentials, which are an access key and its secret."""

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

_TOKEN_TYPE = "urn:ietf:params:oauth:token-type:access_token"  # noqa: S105  a name


def sign_in(
    services: Services, head: RequestHead, content: bytes, audit: RequestAudit | None
) -> Response:
    """Returns the response to a request for a token; errors are in OAuth's form."""
    form = parse_qs(content.decode("utf-8", "replace"))
    grant = form.get("grant_type", [""])[0]
    if grant != "client_credentials":
        return _refusal(400, "unsupported_grant_type", "use client_credentials")
    key, secret = _pair(form, head)
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
    return Response(
        200,
        msgspec.json.encode(
            {
                "access_token": issued.token.reveal(),
                "token_type": "bearer",
                "expires_in": max(0, issued.expires_at - int(services.clock())),
                "issued_token_type": _TOKEN_TYPE,
            }
        ),
        content_type=JSON,
    )


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
