"""A sweep whose records are changed through a server."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import NamedTuple

from anabranch.catalog.garbage.sweeps import MAX_TOMBSTONES
from anabranch.errors import NotSupported
from anabranch.model.tables.table_area import is_table_file
from anabranch.pipelines.garbage.installations.requests import ServerRequests

__all__ = ["ServedSweep"]


class ServedSweep(NamedTuple):
    """What `catalog.garbage.sweeps.Sweep` has, for a sweep of the `repository` of this name."""

    requests: ServerRequests
    repository: str
    id: str

    def begin(self) -> None:
        """Registers the sweep."""
        self._change("PUT")

    def renew(self) -> None:
        """Renews the lease. Raises Conflict if it has expired."""
        self._change("PUT", renew="true")

    def record_expired(self) -> None:
        """Records the trees of the expired commits of all repositories, on the server."""
        self._change("PUT", renew="true", expired="true")

    def add_tombstones(self, addresses: Sequence[str]) -> None:
        """Writes tombstones of full addresses. Raises NotSupported if the server has not recorded
        that files of tables are removed, and some are among them.
        """
        self._post("tombstones", addresses)
        if any(is_table_file(address) for address in addresses):
            sweeps = self.requests.get(self.repository, "gc", "sweeps")
            if not sweeps.get("tables_swept"):
                raise NotSupported(
                    "the server has not recorded that files of tables are removed",
                    hint="Some servers have an older version: update them. Nothing was removed.",
                )

    def claim_removed(self, addresses: Sequence[str]) -> Sequence[bool]:
        """Returns for each full address whether the sweep counts its object."""
        pages = self._post("removed", addresses)
        return [flag for page in pages for flag in json.loads(page)["counted"]]

    def remove_tombstones(self) -> None:
        """Removes all tombstones."""
        self._change("DELETE", "tombstones")

    def end(self) -> None:
        """Removes the sweep and its tombstones."""
        self._change("DELETE")

    def _change(self, method: str, *segments: str, **query: str) -> None:
        self.requests.change(
            *(method, self.repository, "gc", "sweeps", self.id, *segments), query=query
        )

    def _post(self, name: str, addresses: Sequence[str]) -> list[bytes]:
        """Posts addresses, as many at a time as the server takes, and returns the responses."""
        return [
            self.requests.change(
                *("POST", self.repository, "gc", "sweeps", self.id, name),
                body={"addresses": addresses[start : start + MAX_TOMBSTONES]},
            )
            for start in range(0, len(addresses), MAX_TOMBSTONES)
        ]
