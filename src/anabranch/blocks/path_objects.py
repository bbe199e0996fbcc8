"""Blocks in an object store by way of obstore, whose keys are paths (see `object_addresses`).

obstore sends again what may be sent again, and goes on with an answer that was cut off; how often
and how long is its configuration's matter.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, TypeAlias

import obstore
from obstore.exceptions import BaseError
from obstore.store import AzureStore, GCSStore, S3Store

from anabranch.blocks.handed_over import handed_over
from anabranch.blocks.object_addresses import Location, is_path
from anabranch.blocks.object_errors import gone, too_short, translate
from anabranch.blocks.objects import Listed
from anabranch.errors import Gone

if TYPE_CHECKING:
    from obstore import GetOptions, GetResult, ObjectMeta

__all__ = ["Bucket", "PathObjects"]

Bucket: TypeAlias = S3Store | GCSStore | AzureStore

_STREAM_BYTES = 1 << 20
_DELETE_AT_ONCE = 1_000
_HALVES, _BEFORE_HALVES, _LAST = range(0xD800, 0xE000), 0xD7FF, "\U0010ffff"
_UNSATISFIABLE = re.compile(r"status code: 416|Wanted range starting at")
_ERRORS = (BaseError, FileNotFoundError, ValueError)


class PathObjects:
    """Reads and writes whole blocks. `bucket` gives what speaks to a location's bucket."""

    def __init__(self, bucket: Callable[[Location], Bucket]) -> None:
        self._bucket = bucket

    def put(self, location: Location, body: bytes, *, create: bool) -> None:
        """Stores a body. Raises AlreadyExists with `create` where there is one already."""
        try:
            obstore.put(
                self._bucket(location),
                location.key,
                body,
                mode="create" if create else "overwrite",
                use_multipart=False,
            )
        except _ERRORS as error:
            raise translate(error, location.address) from error

    def put_large(self, location: Location, chunks: Iterator[bytes]) -> None:
        """Stores the chunks in parts that obstore joins; nothing stays when `chunks` raises."""
        with handed_over(chunks) as pieces:
            try:
                obstore.put(self._bucket(location), location.key, pieces, use_multipart=True)
            except _ERRORS as error:
                raise translate(error, location.address) from error

    def open(self, location: Location, start: int, end: int | None) -> Iterator[bytes]:
        """Yields the bytes from `start` to before `end`, or all from there. Raises Gone at once."""
        if end == start:
            return self._nothing(location, start)
        wanted: GetOptions | None = None
        if end is not None:
            wanted = {"range": (start, end)}
        elif start:
            wanted = {"range": {"offset": start}}
        try:
            result = obstore.get(self._bucket(location), location.key, options=wanted)
        except _ERRORS as error:
            if _UNSATISFIABLE.search(str(error)):
                return self._nothing(location, start if end is None else end)
            raise translate(error, location.address) from error
        if end is not None and result.range[1] != end:
            raise too_short(location.address, result.meta["size"])
        return _pieces(result, location.address)

    def head(self, location: Location) -> Listed | None:
        """Returns what is there, or None."""
        try:
            found = obstore.head(self._bucket(location), location.key)
        except _ERRORS as error:
            told = translate(error, location.address)
            if isinstance(told, Gone):
                return None
            raise told from error
        return _listed(found)

    def delete(self, locations: Sequence[Location]) -> None:
        """Removes blocks of one bucket; those that are not there are passed over."""
        for first in range(0, len(locations), _DELETE_AT_ONCE):
            some = locations[first : first + _DELETE_AT_ONCE]
            try:
                self._remove(some)
            except FileNotFoundError as error:
                if len(some) == 1:
                    told = translate(error, some[0].address)
                    if isinstance(told, Gone):
                        continue
                    raise told from error
                for each in some:
                    self.delete([each])
            except _ERRORS as error:
                raise translate(error, some[0].address) from error

    def _remove(self, locations: Sequence[Location]) -> None:
        bucket, keys = self._bucket(locations[0]), [each.key for each in locations]
        try:
            obstore.delete(bucket, keys)
        except _ERRORS as error:
            if translate(error, locations[0].address).kind != "storage_unreachable":
                raise
            # obstore sends no POST again, though the connection it had kept may have been cut
            obstore.delete(bucket, keys)

    def copy(self, source: Location, destination: Location) -> int:
        """Copies a block within the store and returns its size in bytes. Raises Gone."""
        found = self.head(source)
        if found is None:
            raise gone(source.address)
        if source.root != destination.root:
            self.put_large(destination, self.open(source, 0, None))
            return found.size
        try:
            obstore.copy(self._bucket(source), source.key, destination.key)
        except _ERRORS as error:
            raise translate(error, source.address) from error
        return found.size

    def list(self, location: Location, after: str) -> Iterator[Listed]:
        """Yields the keys that begin as the location's does, after the key `after`, in the order
        of their bytes. Raises StoreRefused where one of them is no path.
        """
        folder, _, _ = location.key.rpartition("/")
        # obstore knows folders alone: what comes before the prefix in its folder is passed over
        offset = max(_before(location.key), after)
        try:
            pages = obstore.list(
                self._bucket(location),
                folder or None,
                offset=offset if is_path(offset) else None,
            )
            for page in pages:
                for item in page:
                    found = _listed(item)
                    if not found.key.startswith(location.key):
                        if found.key > location.key:
                            return
                    elif found.key > after:
                        yield found
        except _ERRORS as error:
            raise translate(error, location.address) from error

    def _nothing(self, location: Location, at: int) -> Iterator[bytes]:
        """Returns no bytes, if the block reaches to there. Raises Gone."""
        found = self.head(location)
        if found is None:
            raise gone(location.address)
        if at > found.size:
            raise too_short(location.address, found.size)
        return iter(())


def _pieces(result: GetResult, address: str) -> Iterator[bytes]:
    try:
        for chunk in result.stream(_STREAM_BYTES):
            yield bytes(chunk)
    except _ERRORS as error:
        raise translate(error, address) from error


def _listed(found: ObjectMeta) -> Listed:
    mtime, etag = int(found["last_modified"].timestamp()), found["e_tag"] or ""
    return Listed(found["path"], found["size"], mtime, etag.strip('"'))


def _before(prefix: str) -> str:
    """Returns a key before all that begin so, and after most that come before them."""
    if not prefix or prefix[-1] == "\0":
        return prefix[:-1]
    last = ord(prefix[-1]) - 1
    # halves of characters stand for none
    return prefix[:-1] + chr(_BEFORE_HALVES if last in _HALVES else last) + _LAST
