"""Client for objects through obstore, for keys that are paths (see `cloud.addresses`).

obstore retries idempotent requests and resumes interrupted responses, within the limits of
`obstore_options`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, TypeAlias

import obstore
from obstore.exceptions import BaseError
from obstore.store import AzureStore, GCSStore, S3Store

from anabranch.blocks.cloud.addresses import Location, is_path
from anabranch.blocks.cloud.client import ObjectInfo
from anabranch.blocks.cloud.errors import gone_error, range_missing, translate_error
from anabranch.blocks.cloud.threaded_iterator import iterate_in_thread
from anabranch.errors import Busy, Gone

if TYPE_CHECKING:
    from obstore import GetOptions, GetResult, ObjectMeta

__all__ = ["Bucket", "ObstoreClient"]

Bucket: TypeAlias = S3Store | GCSStore | AzureStore

_STREAM_BYTES = 1 << 20
_DELETE_BATCH_SIZE = 1_000
_SURROGATES, _BEFORE_SURROGATES, _LAST = range(0xD800, 0xE000), 0xD7FF, "\U0010ffff"
_UNSATISFIABLE = re.compile(r"status code: 416|Wanted range starting at")
_ERRORS = (BaseError, FileNotFoundError, ValueError)


class ObstoreClient:
    """An `ObjectClient`. `bucket` returns obstore's store for a location's bucket."""

    def __init__(self, bucket: Callable[[Location], Bucket]) -> None:
        self._bucket = bucket

    def put(
        self,
        location: Location,
        body: bytes,
        *,
        if_absent: bool,
        storage_class: str = "",  # noqa: ARG002  not supported
    ) -> None:
        """Stores a body. With `if_absent`, raises AlreadyExists if the key exists."""
        try:
            obstore.put(
                self._bucket(location),
                location.key,
                body,
                mode="create" if if_absent else "overwrite",
                use_multipart=False,
            )
        except _ERRORS as error:
            raise translate_error(error, location.address) from error

    def put_large(
        self,
        location: Location,
        chunks: Iterator[bytes],
        *,
        storage_class: str = "",  # noqa: ARG002  not supported
    ) -> None:
        """Stores the chunks by a multipart upload of obstore. Stores nothing when `chunks`
        raises.
        """
        with iterate_in_thread(chunks) as pieces:
            try:
                obstore.put(self._bucket(location), location.key, pieces, use_multipart=True)
            except _ERRORS as error:
                raise translate_error(error, location.address) from error

    def open(self, location: Location, start: int, end: int | None) -> Iterator[bytes]:
        """Yields the bytes from `start` to before `end`, or to the end of the object. Raises Gone
        before the first piece.
        """
        if end == start:
            return self._empty(location, start)
        options: GetOptions | None = None
        if end is not None:
            options = {"range": (start, end)}
        elif start:
            options = {"range": {"offset": start}}
        try:
            result = obstore.get(self._bucket(location), location.key, options=options)
        except _ERRORS as error:
            if _UNSATISFIABLE.search(str(error)):
                return self._empty(location, start if end is None else end)
            raise translate_error(error, location.address) from error
        if end is not None and result.range[1] != end:
            raise range_missing(location.address, result.meta["size"])
        return _stream(result, location.address)

    def head(self, location: Location) -> ObjectInfo | None:
        """Returns the object, or None if it does not exist."""
        try:
            meta = obstore.head(self._bucket(location), location.key)
        except _ERRORS as error:
            translated = translate_error(error, location.address)
            if isinstance(translated, Gone):
                return None
            raise translated from error
        return _to_info(meta)

    def delete(self, locations: Sequence[Location]) -> None:
        """Removes objects of one bucket; missing ones are ignored."""
        for first in range(0, len(locations), _DELETE_BATCH_SIZE):
            batch = locations[first : first + _DELETE_BATCH_SIZE]
            try:
                self._remove(batch)
            except FileNotFoundError as error:
                if len(batch) == 1:
                    translated = translate_error(error, batch[0].address)
                    if isinstance(translated, Gone):
                        continue
                    raise translated from error
                for location in batch:
                    self.delete([location])
            except _ERRORS as error:
                raise translate_error(error, batch[0].address) from error

    def _remove(self, locations: Sequence[Location]) -> None:
        bucket, keys = self._bucket(locations[0]), [location.key for location in locations]
        try:
            obstore.delete(bucket, keys)
        except _ERRORS as error:
            if translate_error(error, locations[0].address).kind != "storage_unreachable":
                raise
            # obstore retries no POST, though its pooled connection may have been closed meanwhile
            obstore.delete(bucket, keys)

    def copy(self, source: Location, destination: Location) -> int:
        """Copies an object within the store and returns its size in bytes. Raises Gone."""
        info = self.head(source)
        if info is None:
            raise gone_error(source.address)
        if source.root != destination.root:
            self.put_large(destination, self.open(source, 0, None))
            return info.size
        try:
            obstore.copy(self._bucket(source), source.key, destination.key)
        except _ERRORS as error:
            raise translate_error(error, source.address) from error
        copied = self.head(destination)
        if copied is None or copied.size != info.size:  # Azure may copy after its response
            raise Busy(
                f"{destination.address}: the store has not completed the copy",
                kind="storage_failed",
                hint="Try again.",
            )
        return info.size

    def list(self, location: Location, after: str) -> Iterator[ObjectInfo]:
        """Yields the objects whose key starts with the location's, after the key `after`, in order
        of the keys' bytes. Raises StoreRefused if one of the keys is not a path.
        """
        folder, _, _ = location.key.rpartition("/")
        # obstore lists whole folders: objects of the folder that sort before the prefix are skipped
        offset = max(_before(location.key), after)
        try:
            pages = obstore.list(
                self._bucket(location),
                folder or None,
                offset=offset if is_path(offset) else None,
            )
            for page in pages:
                for item in page:
                    info = _to_info(item)
                    if not info.key.startswith(location.key):
                        if info.key > location.key:
                            return
                    elif info.key > after:
                        yield info
        except _ERRORS as error:
            raise translate_error(error, location.address) from error

    def _empty(self, location: Location, at: int) -> Iterator[bytes]:
        """Returns an empty iterator. Raises Gone if the object ends before the offset `at`."""
        info = self.head(location)
        if info is None:
            raise gone_error(location.address)
        if at > info.size:
            raise range_missing(location.address, info.size)
        return iter(())


def _stream(result: GetResult, address: str) -> Iterator[bytes]:
    try:
        for chunk in result.stream(_STREAM_BYTES):
            yield bytes(chunk)
    except _ERRORS as error:
        raise translate_error(error, address) from error


def _to_info(meta: ObjectMeta) -> ObjectInfo:
    mtime, etag = int(meta["last_modified"].timestamp()), meta["e_tag"] or ""
    return ObjectInfo(meta["path"], meta["size"], mtime, etag.strip('"'))


def _before(prefix: str) -> str:
    """Returns a key that sorts before all keys with the prefix, and after most others before it."""
    if not prefix or prefix[-1] == "\0":
        return prefix[:-1]
    last = ord(prefix[-1]) - 1
    return prefix[:-1] + chr(_BEFORE_SURROGATES if last in _SURROGATES else last) + _LAST
