"""Logins in a browser at an OpenID Connect provider: pages that redirect, and pages with errors."""

from __future__ import annotations

import html

import msgspec

from anabranch.access.oidc.single_sign_on import AuthorizationResponse, SingleSignOn
from anabranch.errors import AnabranchError, NotFound
from anabranch.http.response import Headers, Response
from anabranch.rest.protocol.call import Call
from anabranch.rest.protocol.errors import error_response
from anabranch.rest.protocol.login_cookie import login_cookie, read_login_cookie
from anabranch.rest.protocol.operation import Access, Operation, OtherResponse
from anabranch.rest.protocol.session import session_cookie

__all__ = ["LOGIN_PATH", "OPERATIONS", "PAGES"]

LOGIN_PATH = "/oidc/login"
"""The page at which a login begins, as in lakeFS."""

_FOUND = 302
_PRIVATE = (("Cache-Control", "no-store"), ("Referrer-Policy", "no-referrer"))
"""Headers of responses that have, or whose URLs have, secrets of a login."""

_ERROR_HEADERS = (
    ("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'"),
    ("X-Content-Type-Options", "nosniff"),
)
_ERROR_PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Not logged in</title>
<style>body {{ font: 1rem/1.6 system-ui, sans-serif; max-width: 38rem; margin: 4rem auto }}</style>
<h1>Not logged in</h1>
<p>{message}.</p>
<p>{hint}</p>
<p><a href="{login}">Log in again</a></p>
</html>
"""


class LoginParams(msgspec.Struct, frozen=True, kw_only=True):
    """`next` is the path to return to after the login."""

    next: str = ""


class CallbackParams(msgspec.Struct, frozen=True, kw_only=True):
    """What a provider adds to the callback's URL (RFC 6749, section 4.1.2; RFC 9207)."""

    state: str = ""
    code: str = ""
    error: str = ""
    iss: str = ""


def begin_login(call: Call[LoginParams, None]) -> Response:
    """Redirects the browser to the provider."""
    try:
        single_sign_on = _single_sign_on(call)
        begun = single_sign_on.begin(call.params.next)
    except AnabranchError as error:
        return _error(call, error)
    return _redirect(begun.url, [login_cookie(begun.cookie, secure=single_sign_on.is_secure)])


def finish_login(call: Call[CallbackParams, None]) -> Response | None:
    """Sets the session's cookie in a browser that the provider sent back, and redirects it to the
    page where the login began.
    """
    single_sign_on = call.services.single_sign_on
    if single_sign_on is None:
        return None  # as in lakeFS
    secure = single_sign_on.is_secure
    expired = login_cookie("", secure=secure)
    params, audit = call.params, call.request.audit
    try:
        finished = single_sign_on.finish(
            read_login_cookie(call.request),
            AuthorizationResponse(
                state=params.state, code=params.code, error=params.error, iss=params.iss
            ),
        )
    except AnabranchError as error:
        if audit is not None:
            audit.refused(error.kind)
        return _error(call, error, [expired])
    if audit is not None:
        audit.logged_in(finished.username)
    lifetime = max(0, finished.token.expires_at - int(call.services.clock()))
    # the provider leads the browser to the next page, which may need the session itself
    session = session_cookie(
        finished.token.token.reveal(), lifetime, secure=secure, same_site="Lax"
    )
    return _redirect(finished.next_path, [expired, session])


def _single_sign_on(call: Call[LoginParams, None]) -> SingleSignOn:
    single_sign_on = call.services.single_sign_on
    if single_sign_on is None:
        raise NotFound(
            "single sign-on is not enabled",
            kind="single_sign_on_disabled",
            hint="The setting auth.oidc.enabled enables it.",
        )
    return single_sign_on


def _redirect(url: str, cookies: Headers) -> Response:
    return Response(_FOUND, headers=[("Location", url), *_PRIVATE, *cookies])


def _error(
    call: Call[LoginParams, None] | Call[CallbackParams, None],
    error: AnabranchError,
    cookies: Headers | None = None,
) -> Response:
    """Returns the response for an error: a page for a browser, JSON for other clients."""
    response = error_response(error)
    response.headers = [*response.headers, *_PRIVATE, *(cookies or [])]
    if "text/html" not in call.request.header("accept"):
        return response
    page = _ERROR_PAGE.format(
        message=html.escape(error.message[:1].upper() + error.message[1:]),
        hint=html.escape(error.hint),
        login=LOGIN_PATH,
    ).encode()
    return Response(
        response.status,
        page,
        content_type="text/html; charset=utf-8",
        headers=[*response.headers, *_ERROR_HEADERS],
        error=error,
    )


OPERATIONS = (
    Operation(
        id="oauthCallback",
        tag="auth",
        method="GET",
        path="/oidc/callback",
        summary="come back from a login at an OpenID Connect provider",
        permission=Access.NO_AUTH,
        params=CallbackParams,
        others=(OtherResponse(status=_FOUND, description="logged in"),),
        handler=finish_login,
    ),
)
PAGES = (
    Operation(
        id="oidcLogin",
        tag="auth",
        method="GET",
        path=LOGIN_PATH,
        summary="log in at an OpenID Connect provider",
        permission=Access.NO_AUTH,
        params=LoginParams,
        status=_FOUND,
        handler=begin_login,
    ),
)
