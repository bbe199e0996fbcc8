"""Permissions of calls that read tables of the Iceberg catalog, by the paths of their records: who
may read a table in the catalog may read it there, too, without rights to objects.

A call is only admitted by these. What it opens is authorized object by object, and table by table.
"""

from __future__ import annotations

import re
from typing import Any

from anabranch.access.actors.confined_actor import ConfinedActor
from anabranch.access.policies.permissions import Action, Permission, object_arn, repository_arn
from anabranch.access.policies.table_permissions import record_permission, table_view_permission
from anabranch.catalog.tables.iceberg.table_folders import record_in_path
from anabranch.model.tables.table_record import is_table_record
from anabranch.model.uri import IMAGES
from anabranch.rest.protocol.call import Call

__all__ = ["of_compared_table", "of_queried_tables", "of_record", "of_shown_table"]

_Call = Call[Any, Any]

_NAMED = re.compile(r"lakefs://([^/'\"\s]+)/[^/'\"\s]+/([^'\"]*)")
"""A table in SQL, by its address in quotes."""


def of_record(call: _Call) -> Permission:
    """To read the object at the path, or what has its record there."""
    repository, path = call.params.repository, call.params.path
    if repository == IMAGES:
        return Permission(Action.READ_OBJECT, object_arn(repository, path))
    return record_permission(Action.READ_OBJECT, repository, path, "")


def of_compared_table(call: _Call) -> Permission:
    """To read the object at the path, or the table that has its record there; not what else has a
    record: its rows would be those of the record itself, as an object.
    """
    repository, path = call.params.repository, call.params.path
    if is_table_record(path):
        return of_record(call)
    return Permission(Action.READ_OBJECT, object_arn(repository, path))


def of_shown_table(call: _Call) -> Permission:
    """To list objects, for the table in a folder; or else to read the table of the catalog."""
    # the query refuses tables of the catalog to such an actor, with the reason
    if isinstance(call.actor, ConfinedActor):
        return _listing(call)
    return _viewing(call.params.repository, call.params.path) or _listing(call)


def of_queried_tables(call: _Call) -> Permission:
    """To list objects, or to read the table of the catalog that the SQL names first."""
    listing = _listing(call)
    if call.actor is None or call.actor.may(listing):
        return listing
    named = (_viewing(*each.groups()) for each in _NAMED.finditer(call.body.sql))
    return next(filter(None, named), listing)


def _listing(call: _Call) -> Permission:
    return Permission(Action.LIST_OBJECTS, repository_arn(call.params.repository))


def _viewing(repository: str, path: str) -> Permission | None:
    """Returns the permission to see a table of the catalog, None for a path of none."""
    record = record_in_path(f"{path.rstrip('/')}/")
    return table_view_permission(repository, record) if record and repository != IMAGES else None
