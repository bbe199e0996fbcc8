"""One HTTP request of a hook and its response, which the output describes."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from urllib.parse import urlsplit, urlunsplit

from anabranch.actions.hooks.contract import HookContext
from anabranch.errors import Busy, HookFailed, Invalid
from anabranch.outbound.address_guard import AddressGuard
from anabranch.outbound.http_request import SAME_REQUEST, HttpResponse, send_request

__all__ = ["MAX_RESPONSE_BYTES", "exchange", "is_success"]

MAX_RESPONSE_BYTES = 1 << 16
_FIRST_WAIT_SECONDS = 0.5
_LONGEST_WAIT_SECONDS = 10.0
_TOO_MANY_REQUESTS = 429
_SECRET_HEADERS = frozenset(("authorization", "cookie", "proxy-authorization", "set-cookie"))


def exchange(
    context: HookContext,
    method: str,
    url: str,
    *,
    shown_url: str,
    headers: Mapping[str, str],
    body: bytes = b"",
    timeout: float,
    retries: int = 0,
    wait: Callable[[float], object] = time.sleep,
) -> HttpResponse:
    """Returns the response to a request of any status, and writes both to the output. `shown_url`
    stands for the address there.

    The request is repeated at most `retries` times if there is no response or one of 429 or 5xx.
    `timeout` is in seconds, for each of them. Raises HookFailed if there is no response.
    """
    output = context.output
    named = f'{method.capitalize()} "{_without_user(shown_url)}"'
    pause = _FIRST_WAIT_SECONDS
    for attempt in range(retries + 1):
        rest = context.deadline - time.monotonic()
        if rest <= 0:
            raise HookFailed("the time for hooks is up")
        output.write(f"Request:\n{method} {_without_user(shown_url)}\n{_show(headers)}")
        output.write(f"\n{body.decode('utf-8', 'replace')}\n\n" if body else "\n")
        start = time.monotonic()
        try:
            response = send_request(
                method,
                url,
                guard=AddressGuard(context.settings.webhook_allow),
                headers=headers,
                body=body,
                timeout=min(timeout, rest),
                max_response_bytes=MAX_RESPONSE_BYTES,
                redirects=SAME_REQUEST,
            )
        except Invalid as error:
            output.write(f"{error.message}\n")
            reason = output.redact(f"{named}: {error.message}")
            raise HookFailed(reason, hint=_hint(error)) from error
        except Busy as error:
            output.write(f"{error.message}\n\n")
            if attempt == retries:
                raise HookFailed(output.redact(f"{named}: {error.message}")) from error
        else:
            _describe(context, response, time.monotonic() - start)
            if attempt == retries or not _is_temporary(response.status):
                return response
        wait(max(0.0, min(pause, context.deadline - time.monotonic())))
        pause = min(2 * pause, _LONGEST_WAIT_SECONDS)
    raise AssertionError  # the last attempt returns or raises


def is_success(response: HttpResponse) -> bool:
    """Returns whether a status is one of 2xx."""
    return response.status // 100 == 2  # noqa: PLR2004


def _is_temporary(status: int) -> bool:
    return status == _TOO_MANY_REQUESTS or status // 100 == 5  # noqa: PLR2004


def _describe(context: HookContext, response: HttpResponse, duration: float) -> None:
    text = response.body.decode("utf-8", "replace")
    end = f"\n[the response is longer than {MAX_RESPONSE_BYTES} bytes]" * response.is_truncated
    context.output.write(
        f"Response after {duration:.3f} s:\n{response.status}\n{_show(response.headers)}"
        f"\n{text}{end}\n\n"
    )


def _show(headers: Mapping[str, str]) -> str:
    return "".join(
        f"{name}: {'***' if name.lower() in _SECRET_HEADERS else value}\n"
        for name, value in headers.items()
    )


def _without_user(url: str) -> str:
    """Returns an address without user and password."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return "***"
    host = parts.netloc.rpartition("@")[2]
    return urlunsplit(parts._replace(netloc=host))


def _hint(error: Invalid) -> str | None:
    if error.kind == "address_denied":
        return "The server's operator can allow the address by actions.webhook.allow."
    return error.hint or None
