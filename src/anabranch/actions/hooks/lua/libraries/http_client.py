"""`net/http`: requests to addresses that the guard permits."""

from __future__ import annotations

import http as protocol
from collections.abc import Mapping
from typing import Any

from anabranch.actions.hooks.contract import HookContext
from anabranch.actions.hooks.lua.libraries.outgoing import Outgoing
from anabranch.outbound.http_request import DEFAULT_MAX_REDIRECTS

__all__ = ["http"]

_TIMEOUT_SECONDS = 30.0


def http(context: HookContext) -> Mapping[str, Any]:
    """Returns the library `net/http`. Raises ValueError if the settings do not allow it."""
    if not context.settings.lua_net_http_enabled:
        raise ValueError(
            "module 'net/http' is not enabled by the server's setting actions.lua.net_http_enabled"
        )
    outgoing = Outgoing(context)

    def request(target: Any, body: Any = None) -> tuple[int, bytes, Mapping[str, str], str]:
        given = target if isinstance(target, dict) else {"url": target, "body": body}
        url = given.get("url")
        if not isinstance(url, str) or not url:
            raise ValueError("missing request url")
        content = given.get("body")
        sent = b"" if content is None else str(content).encode("utf-8", "surrogateescape")
        method = str(given.get("method") or ("GET" if content is None else "POST"))
        headers = {name: str(value) for name, value in (given.get("headers") or {}).items()}
        response = outgoing.send(
            method,
            url,
            headers,
            sent,
            timeout=_TIMEOUT_SECONDS,
            max_redirects=DEFAULT_MAX_REDIRECTS,
        )
        named = {name.title(): value for name, value in response.headers.items()}
        return response.status, response.body, named, _status_text(response.status)

    return {"request": request}


def _status_text(status: int) -> str:
    try:
        return f"{status} {protocol.HTTPStatus(status).phrase}"
    except ValueError:
        return str(status)
