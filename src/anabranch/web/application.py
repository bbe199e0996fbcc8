"""The application at `/`: its files, and its one page for every path that only it knows.

The page reads the path: `/repositories/flights/objects?ref=main` is a view of it. A browser that
navigates to an unknown path gets the page, any other client a 404 response, so that a program with
a misspelt URL learns of it.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

from anabranch.http.fixed_request import FixedRequest
from anabranch.http.request_head import RequestHead
from anabranch.http.response import Response
from anabranch.web.security_headers import confined_page
from anabranch.web.static_files import ASSETS, StaticFiles

__all__ = ["STATIC_FOLDER", "Application"]

STATIC_FOLDER = Path(__file__).parent / "static"
"""What `make web` builds; part of the wheel, not of the repository."""

_PACKAGE_FILES = StaticFiles(STATIC_FOLDER)

_INDEX = "index.html"
_METHODS = frozenset({"GET", "HEAD"})
_NOT_PAGES = ("api/", ASSETS)
"""Beginnings of paths that are never views of the page, so that old names of files are not found
rather than read as scripts."""

_HTML = "text/html; charset=utf-8"
_STYLE = "body { font: 1rem/1.6 system-ui, sans-serif; max-width: 38rem; margin: 4rem auto }"
_UNBUILT_PAGE = f"""<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Anabranch</title>
<style>{_STYLE}</style>
<h1>Anabranch</h1>
<p>Git for data lakes: branches, commits, merges and tags over the objects of an object store.</p>
<p>This server runs from a checkout in which the web interface is not built. To build it, which
needs Node.js 20 or newer, run <code>make web</code> and restart the server. Installed packages
contain it.</p>
<p>Programs use <code>/api/v1</code>, which <a href="/openapi.json">/openapi.json</a> describes;
the command <code>anabranch</code> and the clients of lakeFS work without the web interface.</p>
</html>
""".encode()


class Application:
    """The requests that the application's files answer; see `Pages`. Without a `folder`, they are
    the package's, which are read once in a process.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self._files = _PACKAGE_FILES if folder is None else StaticFiles(folder)
        self._index = self._files.get(_INDEX)

    def request(self, head: RequestHead) -> FixedRequest | None:
        """Returns the request of a file or of a view; None for all others."""
        if head.method not in _METHODS:
            return None
        name = head.path.lstrip("/")
        file = self._files.get(name or _INDEX)
        if file is None and self._is_view(name, head.headers.get("accept", "")):
            file = self._index
        if file is not None:
            return FixedRequest(partial(file.response, head.headers))
        return None if name else _UNBUILT

    @staticmethod
    def _is_view(name: str, accept: str) -> bool:
        return "text/html" in accept and not f"{name}/".startswith(_NOT_PAGES)


_UNBUILT = FixedRequest(
    partial(Response, 200, _UNBUILT_PAGE, content_type=_HTML, headers=confined_page(_STYLE))
)
