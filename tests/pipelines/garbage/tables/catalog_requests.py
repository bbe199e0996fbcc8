"""The requests of a collection through a server, performed in this process by what the server runs
for each of them: the declared operation, from its parameters to the JSON of its response.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec

from anabranch import _kernel as kernel
from anabranch.access.actors.actor import Actor
from anabranch.blocks.cache.table_cache import TableCache
from anabranch.http.response import Response
from anabranch.library import Lake
from anabranch.pipelines.garbage.installations.served import ServedInstallation
from anabranch.rest.routes import ROUTES
from anabranch.versioning.identifiers import Identifiers

__all__ = ["CatalogRequests", "served_in_process"]


class CatalogRequests:
    """Requests of an administrator to the operations of a lake."""

    def __init__(self, lake: Lake) -> None:
        self._services = SimpleNamespace(catalog=lake)
        self._actor = Actor.administrator("admin")

    def get(self, *segments: str) -> Any:
        return self._perform("GET", segments, {}, None)

    def items(self, *segments: str, **query: str) -> Iterator[Any]:
        after = ""
        while True:
            page = self._perform("GET", segments, {**query, "after": after}, None)
            yield from page["results"]
            if not page["pagination"]["has_more"]:
                return
            after = page["pagination"]["next_offset"]

    def change(
        self,
        method: str,
        *segments: str,
        body: Mapping[str, Any] | None = None,
        query: Mapping[str, str] | None = None,
    ) -> bytes:
        return json.dumps(self._perform(method, segments, dict(query or {}), body)).encode()

    def _perform(
        self,
        method: str,
        segments: tuple[str, ...],
        query: Mapping[str, str],
        body: Mapping[str, Any] | None,
    ) -> Any:
        for route in ROUTES:
            operation = route.operation
            found = _matched(operation.path, ("repositories", *segments))
            if operation.method == method and found is not None:
                params = None
                if operation.params is not None:
                    names = {**query, **found}
                    params = msgspec.convert(names, operation.params, strict=False)
                sent = None if operation.body is None else msgspec.convert(body, operation.body)
                call: Any = SimpleNamespace(
                    params=params, body=sent, services=self._services, actor=self._actor
                )
                made = operation.handler(call)
                if isinstance(made, Response):
                    return json.loads(made.body)
                return msgspec.to_builtins(made)
        raise AssertionError(f"no operation has {method} {segments}")


def _matched(path: str, segments: tuple[str, ...]) -> dict[str, str] | None:
    """Returns the parameters of a path that has these segments, None if it has not."""
    names = path.strip("/").split("/")
    if len(names) != len(segments):
        return None
    found = {}
    for name, segment in zip(names, segments, strict=True):
        if name.startswith("{"):
            found[name.strip("{}")] = segment
        elif name != segment:
            return None
    return found


def served_in_process(
    lake: Lake, folder: Path, clock: Callable[[], float], requests: Any = None
) -> ServedInstallation:
    """Returns a lake's installation as a server shows it."""
    tables = TableCache(lake.blocks, folder / "tables", 1 << 30, verify=kernel.verify_table)
    return ServedInstallation(
        requests or CatalogRequests(lake), lake.blocks, tables, Identifiers(clock)
    )
