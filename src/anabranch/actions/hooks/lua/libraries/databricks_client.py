"""`databricks`: schemas and external tables of Unity Catalog, by the REST API of a workspace."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, urlsplit

import msgspec

from anabranch.actions.hooks.contract import HookContext
from anabranch.actions.hooks.lua.libraries.outgoing import Outgoing

__all__ = ["databricks"]

_NAME = re.compile(r"\w{1,255}", re.ASCII)
_POLL_SECONDS = 2.0
_RUNNING = ("PENDING", "RUNNING")


def databricks(context: HookContext) -> Mapping[str, Any]:
    """Returns the library `databricks`."""
    outgoing = Outgoing(context)

    def client(host: str, token: str) -> Mapping[str, Any]:
        return _Workspace(outgoing, host, token).functions()

    return {"client": client}


class _Workspace:
    def __init__(self, outgoing: Outgoing, host: str, token: str) -> None:
        self._outgoing = outgoing
        self._origin = (host if "://" in host else f"https://{host}").rstrip("/")
        self._headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}

    def functions(self) -> Mapping[str, Any]:
        """Returns the functions of the client."""

        def create_schema(schema: str, catalog: str, get_if_exists: bool = False) -> str:
            body = {"name": schema, "catalog_name": catalog}
            found, reason = self._call("POST", "/api/2.1/unity-catalog/schemas", body)
            if found is None and get_if_exists and "already exists" in reason:
                place = f"/api/2.1/unity-catalog/schemas/{quote(f'{catalog}.{schema}', safe='')}"
                found, reason = self._call("GET", place)
            if found is None:
                raise ValueError(f"failed creating schema: {reason}")
            return str(found["name"])

        def register_external_table(
            table: str,
            location: str,
            warehouse: str,
            catalog: str,
            schema: str,
            metadata: Any = None,
        ) -> str:
            status, reason = self._create(table, location, warehouse, catalog, schema, metadata)
            if not status and "already exists" in reason:
                name = quote(f"{catalog}.{schema}.{table}", safe="")
                self._call("DELETE", f"/api/2.1/unity-catalog/tables/{name}")
                status, reason = self._create(table, location, warehouse, catalog, schema, metadata)
            if not status:
                raise ValueError(f"external table creation failed: {reason}")
            return status

        return {each.__name__: each for each in (create_schema, register_external_table)}

    def _create(
        self,
        table: str,
        location: str,
        warehouse: str,
        catalog: str,
        schema: str,
        metadata: Any,
    ) -> tuple[str, str]:
        """Returns the state of the statement, "" if it failed, and the reason."""
        if not _NAME.fullmatch(table):
            raise ValueError(f"invalid table name {table!r}")
        if not urlsplit(location).scheme or "'" in location or "\\" in location:
            raise ValueError(f"invalid table location {location!r}")
        comment = str((metadata or {}).get("description") or "")
        comment = " COMMENT '" + comment.replace("\\", "\\\\").replace("'", "\\'") + "'"
        statement = f"CREATE EXTERNAL TABLE {table} LOCATION '{location}'"
        body = {
            "warehouse_id": warehouse,
            "catalog": catalog,
            "schema": schema,
            "statement": statement + (comment if comment != " COMMENT ''" else ""),
        }
        found, reason = self._call("POST", "/api/2.0/sql/statements/", body)
        while found is not None and found["status"]["state"] in _RUNNING:
            time.sleep(_POLL_SECONDS)
            place = f"/api/2.0/sql/statements/{quote(found['statement_id'], safe='')}"
            found, reason = self._call("GET", place)
        if found is None:
            return "", reason
        state = str(found["status"]["state"])
        error = str((found["status"].get("error") or {}).get("message", state))
        return (state, "") if state == "SUCCEEDED" else ("", error)

    def _call(
        self, method: str, path: str, body: Mapping[str, Any] | None = None
    ) -> tuple[Any, str]:
        """Returns the response's document, or None and the reason."""
        sent = b"" if body is None else msgspec.json.encode(body)
        response = self._outgoing.send(method, self._origin + path, self._headers, sent)
        if response.status // 100 != 2:  # noqa: PLR2004
            text = response.body[:1000].decode("utf-8", "replace")
            return None, f"HTTP {response.status}: {text}"
        return (msgspec.json.decode(response.body) if response.body else {}), ""
