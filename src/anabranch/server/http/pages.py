"""Pages outside of the API: the home page, health, metrics, the OpenAPI document, and responses for
paths of lakeFS's enterprise edition that are not implemented.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial

from anabranch.http.fixed_request import FixedRequest
from anabranch.http.request_head import RequestHead
from anabranch.http.response import Response
from anabranch.rest.openapi import openapi
from anabranch.rest.protocol.responses import JSON, TEXT, encode
from anabranch.rest.table import EXTENSIONS, OPERATIONS
from anabranch.server.observability.metrics import CONTENT_TYPE

__all__ = ["Pages"]

_HTML = "text/html; charset=utf-8"
_ENTERPRISE = ("/iceberg/api/", "/iceberg/relative_to/", "/mds/iceberg/api/")

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

_NOT_FOUND_PAGE = b"""<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>Not found</title>
<p>There is no such page. <a href="/">This is an Anabranch server.</a></p>
</html>
"""


class Pages:
    """Pages by path. `metrics` returns the text of `/metrics`."""

    def __init__(self, *, metrics: Callable[[], bytes]) -> None:
        self._pages: dict[str, FixedRequest] = {
            "": FixedRequest(partial(Response, 200, _HOME, content_type=_HTML)),
            "_health": FixedRequest(partial(Response, 200, b"alive!", content_type=TEXT)),
            "openapi.json": FixedRequest(_openapi),
            "metrics": FixedRequest(
                lambda: Response(200, metrics(), content_type=CONTENT_TYPE), pooled=True
            ),
        }

    def request(self, head: RequestHead) -> FixedRequest | None:
        """Returns the request of a page, or of a 405 or 501 response; None for unknown paths."""
        page = self._pages.get(head.path.lstrip("/"))
        if page is None:
            return _NOT_IMPLEMENTED if head.path.startswith(_ENTERPRISE) else None
        if head.method == "OPTIONS":
            return _ALLOWED
        return page if head.method == "GET" else _NOT_ALLOWED

    @staticmethod
    def missing() -> FixedRequest:
        """Returns the request of the 404 page."""
        return _MISSING


@cache
def _document() -> bytes:
    return encode(openapi((*OPERATIONS, *EXTENSIONS))) + b"\n"


def _openapi() -> Response:
    return Response(200, _document(), content_type=JSON)


_ALLOWED = FixedRequest(partial(Response, 200, headers=[("Allow", "GET")]))
_NOT_ALLOWED = FixedRequest(partial(Response, 405, _NOT_FOUND_PAGE, content_type=_HTML))
_MISSING = FixedRequest(partial(Response, 404, _NOT_FOUND_PAGE, content_type=_HTML))
_NOT_IMPLEMENTED = FixedRequest(partial(Response, 501, b"Not Implemented\n", content_type=TEXT))
