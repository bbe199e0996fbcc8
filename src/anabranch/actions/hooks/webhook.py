"""Webhooks: the event is sent to an address, which accepts it with a status of 2xx.

The properties are lakeFS's (`url`, `timeout`, `query_params`, `headers`) and `retries`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlencode, urlsplit, urlunsplit

import msgspec

from anabranch.actions.hooks.contract import HookContext
from anabranch.actions.hooks.http_exchange import exchange, is_success
from anabranch.actions.hooks.properties import Properties
from anabranch.actions.hooks.secrets import check_names, reveal
from anabranch.errors import HookFailed, Invalid
from anabranch.outbound.http_request import check_url

__all__ = ["Webhook", "webhook"]

_TIMEOUT_SECONDS = 60.0
_MAX_RETRIES = 10
_REASON_CHARS = 1000


class Webhook(msgspec.Struct, frozen=True, kw_only=True):
    """A request for each event. `timeout` is in seconds."""

    url: str
    timeout: float = _TIMEOUT_SECONDS
    retries: int = 0
    query: tuple[tuple[str, str], ...] = ()
    headers: dict[str, str] = {}
    wait: Callable[[float], object] = time.sleep

    def run(self, context: HookContext) -> None:
        """Sends the event. Raises HookFailed."""
        names = [name for name, _ in self.query]
        # all at once: the texts together have a limited length
        texts = reveal([self.headers, [value for _, value in self.query]], context)
        headers = {**texts[0], "Content-Type": "application/json"}
        query = list(zip(names, texts[1], strict=True))
        response = exchange(
            context,
            "POST",
            _with_query(self.url, query),
            shown_url=_with_query(self.url, self.query),
            headers=headers,
            body=msgspec.json.encode(context.event),
            timeout=self.timeout,
            retries=self.retries,
            wait=self.wait,
        )
        if not is_success(response):
            text = response.body.decode("utf-8", "replace").strip()
            reason = context.output.redact(text)[:_REASON_CHARS]
            status = f"webhook request failed (status code: {response.status})"
            raise HookFailed(f"{status}: {reason}" if reason else status)


def webhook(values: Mapping[str, Any]) -> Webhook:
    """Returns the webhook with these properties. Raises Invalid (kind invalid_hook)."""
    properties = Properties(values)
    url = properties.text("url")
    headers = properties.mapping("headers")
    for name, value in headers.items():
        if not isinstance(value, str):
            raise properties.invalid(f"headers.{name}", "must be text")
        check_names(properties, f"headers.{name}", value)
    query = _query(properties)
    check_address(properties, url)
    made = Webhook(
        url=url,
        timeout=properties.duration("timeout", _TIMEOUT_SECONDS),
        retries=properties.count("retries", 0, most=_MAX_RETRIES),
        query=query,
        headers=dict(headers),
    )
    properties.refuse_others()
    return made


def check_address(properties: Properties, url: str) -> None:
    """Raises Invalid if the property `url` is no address of HTTP."""
    try:
        check_url(url)
    except Invalid as error:
        raise properties.invalid("url", error.message, error.hint) from error


def _query(properties: Properties) -> tuple[tuple[str, str], ...]:
    found = []
    for name, value in properties.mapping("query_params").items():
        for item in value if isinstance(value, list) else [value]:
            if not isinstance(item, str):
                raise properties.invalid(f"query_params.{name}", "must be text or a list of texts")
            check_names(properties, f"query_params.{name}", item)
            found.append((name, item))
    return tuple(found)


def _with_query(url: str, query: Any) -> str:
    parts = urlsplit(url)
    joined = "&".join(filter(None, (parts.query, urlencode(list(query)))))
    return urlunsplit(parts._replace(query=joined))
