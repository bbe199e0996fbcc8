"""What the server answers outside the API: a page that says what it is, its health, its numbers,
its OpenAPI document, and that some paths of lakeFS's enterprise edition are not here.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import cache

import falcon
import falcon.asgi

from anabranch.rest.answer import JSON, TEXT, encode
from anabranch.rest.errors import answer_error
from anabranch.rest.invocation import not_found
from anabranch.rest.openapi import openapi
from anabranch.rest.session import ended_session_cookie
from anabranch.rest.table import BASE_PATH, EXTENSIONS, OPERATIONS
from anabranch.server.api_path import REQUEST_ID
from anabranch.server.metrics import CONTENT_TYPE

__all__ = ["add_to"]

_Request = falcon.asgi.Request
_Response = falcon.asgi.Response

_HTML = "text/html; charset=utf-8"
_ENTERPRISE = r"/(iceberg/api|iceberg/relative_to|mds/iceberg/api)/"

_HOME = b"""<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Anabranch</title>
<style>body { font: 1rem/1.6 system-ui, sans-serif; max-width: 38rem; margin: 4rem auto }</style>
<h1>Anabranch</h1>
<p>Git for data lakes: branches, commits, merges and tags over the objects of an object store.</p>
<p>This is a server. Programs speak to it at <code>/api/v1</code>, as
<a href="/openapi.json">/openapi.json</a> describes; people use <code>anabranch</code> on the
command line, or any client of lakeFS.</p>
</html>
"""

_LOST = b"""<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>Not found</title>
<p>There is no such page. <a href="/">This is an Anabranch server.</a></p>
</html>
"""


class _Home:
    async def on_get(self, _: _Request, resp: _Response) -> None:
        resp.content_type = _HTML
        resp.data = _HOME


class _Health:
    async def on_get(self, _: _Request, resp: _Response) -> None:
        resp.content_type = TEXT
        resp.data = b"alive!"


class _OpenApi:
    async def on_get(self, _: _Request, resp: _Response) -> None:
        resp.content_type = JSON
        resp.data = _document()


class _Metrics:
    def __init__(self, text: Callable[[], bytes]) -> None:
        self._text = text

    async def on_get(self, _: _Request, resp: _Response) -> None:
        resp.content_type = CONTENT_TYPE
        resp.data = await asyncio.to_thread(self._text)


class _Logout:
    def __init__(self, redirect: str) -> None:
        self._redirect = redirect

    async def on_get(self, _: _Request, resp: _Response) -> None:
        resp.status = falcon.HTTP_307
        resp.append_header("Location", self._redirect)
        resp.append_header(*ended_session_cookie())


@cache
def _document() -> bytes:
    return encode(openapi((*OPERATIONS, *EXTENSIONS))) + b"\n"


async def _refuse(
    req: _Request, resp: _Response, error: falcon.HTTPError, _: dict[str, object]
) -> None:
    """Answers where nothing is routed: with an error of the API under its base, with a page
    elsewhere.
    """
    if req.path == BASE_PATH or req.path.startswith(BASE_PATH + "/"):
        answer = answer_error(not_found())
        resp.status = answer.status
        resp.content_type = answer.content_type
        resp.data = answer.body
        resp.set_header("X-Content-Type-Options", "nosniff")
        resp.set_header("X-Request-ID", req.scope[REQUEST_ID])
        return
    resp.status = error.status
    resp.content_type = _HTML
    resp.data = _LOST


def add_to(
    application: falcon.asgi.App[_Request, _Response],
    *,
    logout_url: str,
    metrics: Callable[[], bytes],
) -> None:
    """Adds the pages, and what is answered where there is none. Who logs out is sent to
    `logout_url`; `metrics` makes the text of `/metrics`.
    """
    application.add_route("/", _Home())
    application.add_route("/_health", _Health())
    application.add_route("/metrics", _Metrics(metrics))
    application.add_route("/openapi.json", _OpenApi())
    application.add_route("/logout", _Logout(logout_url))
    application.add_sink(_not_implemented, _ENTERPRISE)
    application.add_error_handler(falcon.HTTPError, _refuse)


async def _not_implemented(
    req: _Request,  # noqa: ARG001  the names are Falcon's
    resp: _Response | None,
    **_: object,
) -> None:
    if resp is None:  # a WebSocket, which this server has none of
        return
    resp.status = falcon.HTTP_501
    resp.content_type = TEXT
    resp.data = b"Not Implemented\n"
