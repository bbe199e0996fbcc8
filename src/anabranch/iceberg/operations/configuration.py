"""getConfig: the prefix of a warehouse, and what this catalog can do."""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import quote

from anabranch.access.policies.permissions import Action, Permission
from anabranch.errors import Invalid
from anabranch.http.response import Response
from anabranch.iceberg.answers import json_response
from anabranch.iceberg.call import Call
from anabranch.iceberg.delegation import file_settings
from anabranch.iceberg.operation import Operation
from anabranch.iceberg.scopes import parse_warehouse

__all__ = ["CONFIG_ID", "configuration"]

CONFIG_ID = "iceberg getConfig"


def configuration(endpoints: Iterable[str]) -> Operation:
    """Returns the operation, for a catalog with these endpoints."""
    named = list(endpoints)

    def get_config(call: Call) -> Response:
        overrides: dict[str, str] = {}
        if call.head.raw_path.split("/")[2] == "v1":
            repository, reference = _warehouse(call)
            found = call.services.catalog.repositories.get(repository)
            reference = reference or found.default_branch
            call.services.catalog.objects.resolve(repository, reference)
            overrides["prefix"] = f"{repository}/{quote(reference, safe='')}"
        return json_response(
            {
                "defaults": file_settings(call),
                "overrides": overrides,
                "endpoints": named,
                "idempotency-key-lifetime": "PT24H",
            }
        )

    return Operation(
        id=CONFIG_ID, method="GET", route="/v1/config", needs=_needs, handler=get_config
    )


def _warehouse(call: Call) -> tuple[str, str]:
    warehouse = call.query.get("warehouse", "")
    if not warehouse:
        raise Invalid(
            "no warehouse is named",
            kind="invalid_warehouse",
            hint="Set warehouse=lakefs://REPOSITORY/BRANCH.",
        )
    return parse_warehouse(warehouse)


def _needs(call: Call) -> list[Permission]:
    if call.head.raw_path.split("/")[2] != "v1":
        return []
    return [call.listing(Action.LIST_NAMESPACES, _warehouse(call))]
