"""Files that a build has made, kept in memory: a server sends one build until it is restarted.

index.html                 asked for again each time, by its ETag
assets/page-DfW4kQxa.js    named by its content: never asked for again
assets/page-DfW4kQxa.js.br, .gz    the same file, compressed when it was built
"""

from __future__ import annotations

import hashlib
import mimetypes
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from anabranch.http.response import Response
from anabranch.web.security_headers import APPLICATION

__all__ = ["ASSETS", "StaticFile", "StaticFiles", "accepted_encodings"]

ASSETS = "assets/"
"""The folder of files whose names change with their content."""

_IMMUTABLE = "public, max-age=31536000, immutable"
_REVALIDATED = "no-cache"
_SUFFIXES = {"br": ".br", "gzip": ".gz"}
"""Content codings, the preferred one first, by the suffix of their files."""

_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".mjs": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
    ".wasm": "application/wasm",
    ".webmanifest": "application/manifest+json",
    ".woff2": "font/woff2",
}
"""Types of what builds make, the same on every system."""


class _Representation(NamedTuple):
    body: bytes
    etag: str


class StaticFile:
    """One file in all codings that the build has made of it."""

    def __init__(self, path: Path, *, immutable: bool) -> None:
        self._type = _content_type(path)
        plain = path.read_bytes()
        self._plain = _Representation(plain, _etag(plain, ""))
        self._encoded = {
            coding: _Representation(body, _etag(plain, coding))
            for coding, suffix in _SUFFIXES.items()
            if (body := _read_if_present(path.with_name(path.name + suffix))) is not None
        }
        cache = _IMMUTABLE if immutable else _REVALIDATED
        self._headers = [("Cache-Control", cache), ("Vary", "Accept-Encoding"), *APPLICATION]

    def response(self, headers: Mapping[str, str]) -> Response:
        """Returns the response to a request with these headers: 304 if the client has the file."""
        chosen, coding = self._plain, ""
        accepted = accepted_encodings(headers.get("accept-encoding", ""))
        for offered, representation in self._encoded.items():
            if offered in accepted:
                chosen, coding = representation, offered
                break
        sent = [("ETag", chosen.etag), *self._headers]
        if chosen.etag in headers.get("if-none-match", ""):
            return Response(304, headers=sent)
        if coding:
            sent.append(("Content-Encoding", coding))
        return Response(200, chosen.body, content_type=self._type, headers=sent)


class StaticFiles:
    """The files below a folder by their path, `assets/page-DfW4kQxa.js`; none if it is missing."""

    def __init__(self, folder: Path) -> None:
        self._files: dict[str, StaticFile] = {}
        for path in sorted(folder.rglob("*")):
            name = path.relative_to(folder).as_posix()
            if path.is_file() and path.suffix not in _SUFFIXES.values():
                self._files[name] = StaticFile(path, immutable=name.startswith(ASSETS))

    def get(self, name: str) -> StaticFile | None:
        """Returns the file with a path relative to the folder, None if there is none."""
        return self._files.get(name)


@lru_cache(64)
def accepted_encodings(header: str) -> frozenset[str]:
    """Returns the content codings that an Accept-Encoding header names and does not refuse (RFC
    9110, section 12.5.3), in lower case. A wildcard accepts none: the file as it is always does.
    """
    accepted = set()
    for item in header.lower().split(","):
        coding, *parameters = (part.strip() for part in item.split(";"))
        weight = next((each[2:] for each in parameters if each.startswith("q=")), "1")
        if weight.strip("0.") and coding:
            accepted.add(coding)
    return frozenset(accepted)


def _content_type(path: Path) -> str:
    known = _TYPES.get(path.suffix)
    return known or mimetypes.guess_type(path.name)[0] or "application/octet-stream"


def _etag(plain: bytes, coding: str) -> str:
    digest = hashlib.blake2b(plain, digest_size=12).hexdigest()
    return f'"{digest}-{coding}"' if coding else f'"{digest}"'


def _read_if_present(path: Path) -> bytes | None:
    return path.read_bytes() if path.is_file() else None
