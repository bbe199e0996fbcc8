"""Pages outside of the API: the web interface, health, metrics, the OpenAPI document, and responses
for paths of lakeFS's enterprise edition that are not implemented.
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
from anabranch.web.application import Application
from anabranch.web.security_headers import confined_page

__all__ = ["Pages"]

_HTML = "text/html; charset=utf-8"
_ENTERPRISE = ("/mds/iceberg/api/",)

_NOT_FOUND_PAGE = b"""<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>Not found</title>
<p>There is no such page. <a href="/">This is an Anabranch server.</a></p>
</html>
"""


class Pages:
    """Pages by path. `metrics` returns the text of `/metrics`."""

    def __init__(self, application: Application, *, metrics: Callable[[], bytes]) -> None:
        self._application = application
        self._pages: dict[str, FixedRequest] = {
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
            if head.path.startswith(_ENTERPRISE):
                return _NOT_IMPLEMENTED
            page = self._application.request(head)
            if page is not None or head.path.strip("/"):
                return page
        if head.method == "OPTIONS":
            return _ALLOWED
        return page if page is not None and head.method == "GET" else _NOT_ALLOWED

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
_NOT_ALLOWED, _MISSING = (
    FixedRequest(
        partial(Response, status, _NOT_FOUND_PAGE, content_type=_HTML, headers=confined_page())
    )
    for status in (405, 404)
)
_NOT_IMPLEMENTED = FixedRequest(partial(Response, 501, b"Not Implemented\n", content_type=TEXT))
