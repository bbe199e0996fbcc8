"""The server's answers to the calls of a query process, which reads objects and metadata as the
user of the query.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from anabranch.access.actors.actor import Actor
from anabranch.catalog.catalog import Catalog
from anabranch.errors import AnabranchError, Invalid
from anabranch.pipelines.queries.download import Download
from anabranch.pipelines.queries.messages import MAX_READ_BYTES
from anabranch.pipelines.queries.query_rights import QueryRights
from anabranch.pipelines.queries.readable_objects import ReadableObjects
from anabranch.pipelines.queries.reference_views import ReferenceViews

if TYPE_CHECKING:
    from anabranch.pipelines.queries.metadata.metadata_tables import MetadataTables

__all__ = ["CallAnswers"]

_Answer = Callable[[Mapping[str, Any]], tuple[dict[str, Any], Any]]


class CallAnswers:
    """Answers the calls of one query, which may write a `download`. Must be closed."""

    def __init__(self, catalog: Catalog, actor: Actor, download: Download | None = None) -> None:
        self._catalog = catalog
        self._download = download
        self._rights = QueryRights(catalog, actor)
        self._tables: MetadataTables | None = None
        self._views = ReferenceViews(catalog)
        self.objects = ReadableObjects(catalog, self._rights, self._views)
        self._calls: dict[str, _Answer] = {
            "glob": self._glob,
            "list": self._list,
            "open": self._open,
            "read": self._read,
            "open_table": self._open_table,
            "scan": self._scan,
            "next": self._next,
        }
        self.bytes_read = 0
        self.refusal: AnabranchError | None = None
        """The error of an answer, which is that of the query."""

    def answer(self, call: Mapping[str, Any], sent: bytes) -> tuple[dict[str, Any], Any]:
        """Returns the result of a call that sent bytes, and its bytes."""
        try:
            if call["call"] == "write":
                self._write(sent)
                return {}, b""
            result, content = self._calls[call["call"]](call)
        except AnabranchError as error:
            is_missing = error.kind == "object_not_found"
            if not is_missing:  # patterns and statements may do without it
                self.refusal = error
            return {"error": error.message, "missing": is_missing}, b""
        return result, content

    def close(self) -> None:
        """Releases what calls have opened."""
        if self._tables is not None:
            self._tables.close()

    def _glob(self, call: Mapping[str, Any]) -> tuple[dict[str, Any], bytes]:
        return {"addresses": self.objects.find(call["address"])}, b""

    def _list(self, call: Mapping[str, Any]) -> tuple[dict[str, Any], bytes]:
        return {"addresses": self.objects.list(call["address"])}, b""

    def _open(self, call: Mapping[str, Any]) -> tuple[dict[str, Any], bytes]:
        entry = self.objects.open(call["address"]).entry
        return {"size": entry.size, "mtime": entry.mtime}, b""

    def _read(self, call: Mapping[str, Any]) -> tuple[dict[str, Any], bytes]:
        opened = self.objects.open(call["address"])
        length = min(call["length"], MAX_READ_BYTES)
        content = b"".join(opened.chunks(call["start"], length))
        self.bytes_read += len(content)
        return {}, content

    def _open_table(self, call: Mapping[str, Any]) -> tuple[dict[str, Any], bytes]:
        return {"table": self._metadata.open(call["function"], call["arguments"])}, b""

    def _scan(self, call: Mapping[str, Any]) -> tuple[dict[str, Any], bytes]:
        scan = self._metadata.scan(call["table"], call["columns"], call["conditions"])
        return {"scan": scan}, b""

    def _next(self, call: Mapping[str, Any]) -> tuple[dict[str, Any], Any]:
        batch = self._metadata.next(call["scan"])
        return {"ended": batch is None}, b"" if batch is None else batch

    def _write(self, content: bytes) -> None:
        if self._download is None:
            raise Invalid("the query writes no file", kind="query_failed")
        self._download.write(content)

    @property
    def _metadata(self) -> MetadataTables:
        if self._tables is None:
            from anabranch.pipelines.queries.metadata.metadata_tables import (  # noqa: PLC0415
                MetadataTables,  # it needs optional libraries
            )

            self._tables = MetadataTables(self._catalog, self._rights, self._views)
        return self._tables
