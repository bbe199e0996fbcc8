"""Which file of an area an address in the metadata of a table may mean.

Engines spell addresses in their own ways, and store the file under what their client makes of them:
some decode percent signs, join slashes, or leave out what follows a question mark. An address may
mean each of these, so each of them counts where something must be kept.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from typing import NamedTuple
from urllib.parse import unquote

from anabranch.model.tables.table_area import AREAS_FOLDER

__all__ = ["AreaPath", "area_paths"]

_IN_AREA = re.compile(r"(?:^|/)\.?tables/+([0-9a-f]{32})/+(.+)", re.DOTALL)
_NAME = r"[^/%?#.][^/%?#]*"
_PLAIN = re.compile(rf"s3://([^/%?#]+)/\.tables/([0-9a-f]{{32}})/({_NAME}(?:/{_NAME})*)")
"""An address that all clients understand in the same way."""

_IN_BUCKET = re.compile(r"(?:[a-z][a-z0-9+.-]*://)?([^/]*)", re.IGNORECASE)
_ENDS = re.compile(r"[?#]")


class AreaPath(NamedTuple):
    """A file of an area: the name of the repository in its address, which may be none, the id of
    the area, and the path in it.
    """

    repository: str
    area: str
    path: str

    @property
    def relative(self) -> str:
        """The address of the file in the repository's storage namespace."""
        return f"{AREAS_FOLDER}{self.area}/{self.path}"


def area_paths(address: str) -> list[AreaPath]:
    """Returns the files of areas that an address may mean, the likeliest first; none for an address
    outside of areas.
    """
    plain = _PLAIN.fullmatch(address)
    if plain is not None:
        return [AreaPath(*plain.groups())]
    if "tables/" not in address and "%" not in address:
        return []
    found: dict[AreaPath, None] = {}
    for text in dict.fromkeys(_spellings(address)):
        match = _IN_AREA.search(text)
        if match is not None:
            bucket = _IN_BUCKET.match(text)
            repository = "" if bucket is None else bucket[1]
            found[AreaPath(repository, match[1], match[2])] = None
    return list(found)


def _spellings(address: str) -> Iterator[str]:
    """Yields what clients make of an address."""
    for text in (address, unquote(address)):
        for cut in (text, _ENDS.split(text, 1)[0]):
            yield cut
            yield _joined(cut)


def _joined(text: str) -> str:
    """Returns an address without empty names and without `.` and `..`."""
    scheme, separator, rest = text.partition("://")
    if not separator:
        return posixpath.normpath(text)
    bucket, slash, path = rest.partition("/")
    return f"{scheme}://{bucket}/{posixpath.normpath(f'/{path}').lstrip('/')}" if slash else text
