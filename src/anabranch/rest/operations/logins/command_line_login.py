"""Logins of the command line through a browser: two pages, and the exchange of a code."""

from __future__ import annotations

import html
from typing import Annotated
from urllib.parse import quote, urlencode

import msgspec
from msgspec import Meta

from anabranch.access.actors.actor import Actor
from anabranch.access.sessions.command_line_logins import CommandLineLogin
from anabranch.errors import Invalid, Unauthenticated
from anabranch.http.response import Response
from anabranch.rest.operations.logins.single_sign_on import LOGIN_PATH
from anabranch.rest.protocol.body import Body
from anabranch.rest.protocol.call import Call
from anabranch.rest.protocol.operation import Access, Operation
from anabranch.rest.protocol.session import authenticate
from anabranch.rest.schemas.tokens import AuthenticationToken

__all__ = ["OPERATIONS", "PAGES"]

_PATH = "/auth/cli"
_SIGN_IN_PATH = "/auth/login"  # of the web interface
_ALLOW_PATH = "/auth/cli/allow"
_FOUND = 302
_TEXT = Annotated[str, Meta(min_length=20, max_length=128, pattern="^[A-Za-z0-9_-]+$")]
_PRIVATE = (("Cache-Control", "no-store"), ("Referrer-Policy", "no-referrer"))
_HEADERS = (
    *_PRIVATE,
    (
        "Content-Security-Policy",
        "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
    ),
    ("X-Frame-Options", "DENY"),
    ("X-Content-Type-Options", "nosniff"),
)
_PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Log in on the command line</title>
<style>body {{ font: 1rem/1.6 system-ui, sans-serif; max-width: 38rem; margin: 4rem auto }}</style>
<h1>Log in on the command line?</h1>
<p>A program on this computer asks to act as <strong>{username}</strong> on this server.</p>
<p>Allow it only if you have just run <code>anabranch login --browser</code>, and it shows the code
<strong>{shown_code}</strong>.</p>
<p><a href="{allow}">Allow</a></p>
</html>
"""


class LoginParams(msgspec.Struct, frozen=True, kw_only=True):
    """What a command line asks for; see `CommandLineLogin`."""

    port: Annotated[int, Meta(ge=1024, le=65535)]
    state: _TEXT
    challenge: _TEXT


class AllowParams(LoginParams, frozen=True, kw_only=True):
    """What a user allows; `confirm` is of the page that asked."""

    confirm: str


class LoginCode(Body, frozen=True, kw_only=True):
    """A code, and the verifier of the challenge."""

    code: str
    verifier: str


def ask(call: Call[LoginParams, None]) -> Response:
    """Asks the user whether the command line may act as the user; one who is not logged in logs in
    first.
    """
    params = call.params
    query = urlencode({"port": params.port, "state": params.state, "challenge": params.challenge})
    actor = _logged_in(call)
    if actor is None:
        login_page = _SIGN_IN_PATH if call.services.single_sign_on is None else LOGIN_PATH
        place = f"{login_page}?next={quote(f'{_PATH}?{query}', safe='')}"
        return Response(_FOUND, headers=[("Location", place), *_PRIVATE])
    logins = call.services.access.command_line_logins
    login = _login(params)
    confirm = logins.confirmation(actor, login)
    page = _PAGE.format(
        username=html.escape(actor.username),
        shown_code=login.shown_code,
        allow=html.escape(f"{_ALLOW_PATH}?{query}&{urlencode({'confirm': confirm})}"),
    )
    return Response(
        200, page.encode(), content_type="text/html; charset=utf-8", headers=list(_HEADERS)
    )


def allow(call: Call[AllowParams, None]) -> Response:
    """Redirects the browser to the command line, with a code."""
    actor = _logged_in(call)
    if actor is None:
        raise Unauthenticated("error authenticating request")
    params = call.params
    logins = call.services.access.command_line_logins
    code = logins.grant(actor, _login(params), params.confirm)
    query = urlencode({"code": code, "state": params.state})
    place = f"http://127.0.0.1:{params.port}/?{query}"
    return Response(_FOUND, headers=[("Location", place), *_PRIVATE])


def exchange(call: Call[None, LoginCode]) -> AuthenticationToken:
    """Returns a token for a code."""
    audit = call.request.audit
    try:
        username, issued = call.services.access.command_line_logins.redeem(
            call.body.code, call.body.verifier
        )
    except Invalid as error:
        if audit is not None:
            audit.refused(error.kind)
        raise
    if audit is not None:
        audit.logged_in(username)
    return AuthenticationToken(token=issued.token.reveal(), token_expiration=issued.expires_at)


def _logged_in(call: Call[LoginParams, None] | Call[AllowParams, None]) -> Actor | None:
    """Returns the user of the browser's session, None without a valid one."""
    try:
        actor = authenticate(call.services.access.authenticator, call.request, "GET")
    except Unauthenticated:
        return None
    return actor if actor is not None and actor.opens_sessions else None


def _login(params: LoginParams) -> CommandLineLogin:
    return CommandLineLogin(port=params.port, state=params.state, challenge=params.challenge)


OPERATIONS = (
    Operation(
        id="exchangeLoginCode",
        tag="auth",
        method="POST",
        path="/auth/cli/token",
        summary="exchange the code of a login of the command line for a token",
        permission=Access.NO_AUTH,
        body=LoginCode,
        response=AuthenticationToken,
        handler=exchange,
    ),
)
PAGES = (
    Operation(
        id="askCommandLineLogin",
        tag="auth",
        method="GET",
        path=_PATH,
        summary="ask whether the command line may log in",
        permission=Access.NO_AUTH,
        params=LoginParams,
        handler=ask,
    ),
    Operation(
        id="allowCommandLineLogin",
        tag="auth",
        method="GET",
        path=_ALLOW_PATH,
        summary="let the command line log in",
        permission=Access.NO_AUTH,
        params=AllowParams,
        status=_FOUND,
        handler=allow,
    ),
)
