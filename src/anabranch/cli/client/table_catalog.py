"""The command line's connection to the server's Iceberg REST catalog.

Errors of the catalog have another form than those of the API; they become failures like others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import quote

from anabranch.cli.client.connection import Connection
from anabranch.cli.errors import Failure
from anabranch.client.error_responses import ErrorResponse
from anabranch.client.rest_client import Request
from anabranch.errors import OutcomeUnknown

__all__ = ["Reference", "TableCatalog"]

_SEPARATOR = "\x1f"
_PAGE = 1000
_NOT_FOUND = 404
_UNKNOWN = "CommitStateUnknownException"
_MISSING = ("NoSuchTableException", "NoSuchNamespaceException")


class Reference(NamedTuple):
    """A branch, tag, commit or expression of a repository."""

    repository: str
    ref: str


class TableCatalog(Connection):
    """The catalog of the server that the settings name. Namespaces are tuples of names. All methods
    raise Failure.
    """

    def namespaces(self, at: Reference, parent: Sequence[str] = ()) -> list[tuple[str, ...]]:
        """Returns the namespaces directly in a namespace, or at the top."""
        found = self._all(at, "namespaces", parent=_SEPARATOR.join(parent) or None)
        return [tuple(name) for page in found for name in page["namespaces"]]

    def names(self, at: Reference, kind: str, namespace: Sequence[str]) -> list[str]:
        """Returns the names of the `kind`, "tables" or "views", of a namespace."""
        found = self._all(at, "namespaces", _SEPARATOR.join(namespace), kind)
        return [each["name"] for page in found for each in page["identifiers"]]

    def load(self, at: Reference, namespace: Sequence[str], name: str) -> dict[str, Any]:
        """Returns a table, as the catalog describes it: its `metadata` with all snapshots, and the
        `metadata-location`.
        """
        table: dict[str, Any] = self.get(*at, *_table(namespace, name))
        return table

    def load_view(self, at: Reference, namespace: Sequence[str], name: str) -> dict[str, Any]:
        """Returns a view, as `load` does a table."""
        parts = ("namespaces", _SEPARATOR.join(namespace), "views", name)
        view: dict[str, Any] = self.get(*at, *parts)
        return view

    def register(
        self, at: Reference, namespace: Sequence[str], name: str, location: str
    ) -> dict[str, Any]:
        """Makes a table of the metadata file at an address, and returns it."""
        body = {"name": name, "metadata-location": location}
        parts = ("namespaces", _SEPARATOR.join(namespace), "register")
        table: dict[str, Any] = self.send("POST", *at, *parts, body=body)
        return table

    def unregister(self, at: Reference, namespace: Sequence[str], name: str) -> dict[str, Any]:
        """Removes a table from its branch, and returns its last `metadata` and the
        `metadata-location`.
        """
        table: dict[str, Any] = self.send("POST", *at, *_table(namespace, name), "unregister")
        return table

    def create_namespace(self, at: Reference, namespace: Sequence[str]) -> None:
        """Creates a namespace."""
        self.send("POST", *at, "namespaces", body={"namespace": list(namespace)})

    def has_namespace(self, at: Reference, namespace: Sequence[str]) -> bool:
        """Returns whether a namespace exists."""
        try:
            self.get(*at, "namespaces", _SEPARATOR.join(namespace))
        except Failure as failure:
            if failure.status == _NOT_FOUND:
                return False
            raise
        return True

    def commit(
        self,
        at: Reference,
        namespace: Sequence[str],
        name: str,
        *,
        requirements: Sequence[Mapping[str, Any]],
        updates: Sequence[Mapping[str, Any]],
    ) -> dict[str, Any]:
        """Commits updates to a table, if the requirements hold, and returns it."""
        body = {"requirements": list(requirements), "updates": list(updates)}
        table: dict[str, Any] = self.send("POST", *at, *_table(namespace, name), body=body)
        return table

    def request_path(self, request: Request) -> str:
        """Returns the path of a request. The catalog decodes each part of it once."""
        segments = [quote(part, safe="", errors="surrogateescape") for part in request.segments]
        return "/".join([f"{self.base_path}/iceberg/v1", *segments])

    def status_error(self, request: Request, response: ErrorResponse) -> Failure:
        """Returns the failure that an error of the catalog stands for."""
        document = response.document if isinstance(response.document, dict) else {}
        error = document.get("error")
        if isinstance(error, dict):
            unknown = error.get("type") == _UNKNOWN
            hint = ""
            if error.get("type") in _MISSING and request.segments[1:]:
                at = "/".join(request.segments[:2])
                hint = f"`anabranch table list lakefs://{at}` shows its namespaces and tables."
            response = response._replace(
                message=str(error.get("message") or response.message),
                kind=OutcomeUnknown.kind if unknown else response.kind,
                hint=hint or response.hint,
            )
        return super().status_error(request, response)

    def _all(self, at: Reference, *parts: str, **params: Any) -> list[dict[str, Any]]:
        pages: list[dict[str, Any]] = []
        token: str | None = ""
        while token is not None:
            position = {"pageSize": _PAGE, "pageToken": token or None}
            pages.append(self.get(*at, *parts, **params, **position))
            token = pages[-1].get("next-page-token")
        return pages


def _table(namespace: Sequence[str], name: str) -> tuple[str, ...]:
    return "namespaces", _SEPARATOR.join(namespace), "tables", name
