"""Permissions on tables of the Iceberg catalog, and those on the objects that stand for them.

A table is a record at a path of a repository, so there are two ways to speak of it:

    catalog:ReadTable on arn:lakefs:catalog:::table/rides/city/trips
    fs:ReadObject on arn:lakefs:fs:::repository/rides/object/_tables/city/trips/table.json

Either allows a request of the catalog, and a denial of either refuses it. A denial on the table
refuses all other ways to its record, too; an allowance opens none of them. Parts of names are
encoded as in the record's path, and an `@` in them is `%40`: what follows an `@` is the branch.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from anabranch.access.policies.permissions import (
    CATALOG,
    TABLE_ACTIONS,
    Action,
    AllBelow,
    Permission,
    object_arn,
    repository_arn,
)
from anabranch.model.tables.table_record import (
    NAMESPACE_FILE,
    RECORDS_ROOT,
    TABLE_FILE,
    VIEW_FILE,
)

__all__ = [
    "changing_permission",
    "creation_permission",
    "denying_permissions",
    "listing_permission",
    "merge_permission",
    "objects_below",
    "permission_on",
    "record_permission",
    "table_view_permission",
]


class _Kind(NamedTuple):
    """Tables, views or namespaces: their noun in ARNs, the file of their records, and actions."""

    noun: str
    file: str
    read: Action
    create: Action
    update: Action
    delete: Action


_KINDS = (
    _Kind(
        *("table", TABLE_FILE, Action.READ_TABLE),
        *(Action.CREATE_TABLE, Action.UPDATE_TABLE, Action.DELETE_TABLE),
    ),
    _Kind(
        *("view", VIEW_FILE, Action.READ_VIEW),
        *(Action.CREATE_VIEW, Action.UPDATE_VIEW, Action.DELETE_VIEW),
    ),
    _Kind(
        *("namespace", NAMESPACE_FILE, Action.GET_NAMESPACE),
        *(Action.CREATE_NAMESPACE, Action.UPDATE_NAMESPACE, Action.DELETE_NAMESPACE),
    ),
)
_BY_FILE = {kind.file: kind for kind in _KINDS}
_BY_ACTION = {
    action: kind for kind in _KINDS for action in (kind.read, kind.create, kind.update, kind.delete)
}
_OBJECTS = "arn:lakefs:fs:::repository/"
_CHANGES = (Action.WRITE_OBJECT, Action.DELETE_OBJECT)


def record_permission(action: Action, repository: str, path: str, branch: str) -> Permission:
    """Returns the permission to read, write or delete what has its record at a path, which is on
    the table, the view or the namespace; on the object at any other path.
    """
    on_object = Permission(action, object_arn(repository, path), branch=branch)
    recorded = _recorded(repository, path)
    if recorded is None:
        return on_object
    kind, name = recorded
    on = {
        Action.READ_OBJECT: kind.read,
        Action.WRITE_OBJECT: kind.update,
        Action.DELETE_OBJECT: kind.delete,
    }
    return Permission(on[action], name, branch=branch, objects=(on_object,))


def table_view_permission(repository: str, path: str) -> Permission:
    """Returns the permission to see the files and the rows of the table with a record at a path, by
    the path: that to read the table, or else to read the record as an object and to list objects.
    """
    reading = record_permission(Action.READ_OBJECT, repository, path, "")
    return _with_listing(reading, repository) if reading.objects else reading


def merge_permission(action: Action, repository: str, path: str, branch: str) -> Permission:
    """Returns the permission by which a merge reads, writes or deletes what has its record at a
    path. To be told of a namespace is refused by a denial to list objects, as everywhere.
    """
    permission = record_permission(action, repository, path, branch)
    is_telling = permission.action == Action.GET_NAMESPACE
    return _with_listing(permission, repository) if is_telling else permission


def _with_listing(permission: Permission, repository: str) -> Permission:
    listing = Permission(Action.LIST_OBJECTS, repository_arn(repository))
    return permission._replace(objects=(*permission.objects, listing))


def creation_permission(repository: str, path: str, branch: str) -> Permission:
    """Returns the permission to create what has its record at a path, which tells whether there is
    something: so the permissions to read and to write the object stand for it.
    """
    kind = _BY_FILE[path.rpartition("/")[2]]
    return _on_record(kind, kind.create, repository, path, branch)


def changing_permission(repository: str, path: str, branch: str) -> Permission:
    """Returns the permission to change the properties of the namespace with a record at a path,
    which tells them, too.
    """
    return _on_record(_BY_FILE[NAMESPACE_FILE], Action.UPDATE_NAMESPACE, repository, path, branch)


def listing_permission(action: Action, repository: str, folder: str) -> Permission:
    """Returns a permission on a namespace which that to list objects stands for: to list what is in
    it, or to be told that it is there. `folder` is that of its record, without a slash.
    """
    name = _arn(_BY_FILE[NAMESPACE_FILE], repository, folder.removeprefix(RECORDS_ROOT.rstrip("/")))
    objects = (Permission(Action.LIST_OBJECTS, repository_arn(repository)),)
    return Permission(action, name, objects=objects)


def permission_on(action: str, resource: str, branch: str | None) -> Permission:
    """Returns the permission of an action on a resource, with the objects that stand for it."""
    permission = Permission(action, resource, branch=branch)
    noun, _, named = resource.removeprefix(CATALOG).partition("/")
    repository, slash, levels = named.partition("@")[0].partition("/")
    if action not in TABLE_ACTIONS or not resource.startswith(CATALOG) or not slash:
        return permission
    kind = _BY_ACTION.get(Action(action))
    if kind is None or action == Action.GET_NAMESPACE:  # listing objects stands for it
        listing = Permission(Action.LIST_OBJECTS, repository_arn(repository))
        return permission._replace(objects=(listing,) if noun == "namespace" else ())
    if noun != kind.noun:
        return permission
    path = f"{RECORDS_ROOT}{levels.replace('%40', '@')}/{kind.file}"
    changed = permission.changed_branch or ""
    return permission._replace(objects=_standing_for(kind, action, repository, path, changed))


def objects_below(action: str, prefix: str) -> tuple[tuple[Action, str], ...]:
    """Returns the actions, and the prefixes of objects' names, that stand for an action on anything
    whose name begins with a prefix; none for other actions.
    """
    if action not in TABLE_ACTIONS:
        return ()
    named = prefix.removeprefix(CATALOG).partition("/")[2] if prefix.startswith(CATALOG) else ""
    repository, slash, levels = named.partition("/")
    kind = _BY_ACTION.get(Action(action))
    if kind is None or action == Action.GET_NAMESPACE:  # listing objects stands for it
        return ((Action.LIST_OBJECTS, f"{_OBJECTS}{repository}"),)
    path = f"/object/{RECORDS_ROOT}{levels.partition('@')[0].replace('%40', '@')}" if slash else ""
    needed = _standing_for(kind, action, repository, "", "")
    return tuple((Action(each.action), f"{_OBJECTS}{repository}{path}") for each in needed)


def _on_record(kind: _Kind, action: Action, repository: str, path: str, branch: str) -> Permission:
    """Returns the permission of an action on what has its record at a path."""
    objects = _standing_for(kind, action, repository, path, branch)
    return Permission(action, _arn_of(kind, repository, path), branch=branch, objects=objects)


def _standing_for(
    kind: _Kind, action: str, repository: str, path: str, branch: str
) -> tuple[Permission, ...]:
    if action in {kind.create, Action.UPDATE_NAMESPACE}:
        actions: tuple[Action, ...] = (Action.READ_OBJECT, Action.WRITE_OBJECT)
    elif action == kind.read:
        actions = (Action.READ_OBJECT,)
    else:
        actions = (Action.WRITE_OBJECT if action == kind.update else Action.DELETE_OBJECT,)
    resource = object_arn(repository, path)
    return tuple(Permission(each, resource, branch=branch) for each in actions)


def denying_permissions(permission: Permission) -> Iterator[Permission]:
    """Yields the permissions on tables, views and namespaces which, if they are denied, deny that
    on an object, or on all whose paths have a prefix.
    """
    repository, separator, path = permission.resource.removeprefix(_OBJECTS).partition("/object/")
    if not separator or not permission.resource.startswith(_OBJECTS):
        return
    if isinstance(permission.resource, AllBelow):
        if not (path.startswith(RECORDS_ROOT) or RECORDS_ROOT.startswith(path)):
            return
        folder = path.removeprefix(RECORDS_ROOT).rpartition("/")[0] if path else ""
        names: list[tuple[_Kind, str]] = [
            (kind, AllBelow(_arn(kind, repository, folder))) for kind in _KINDS
        ]
    else:
        recorded = _recorded(repository, path)
        names = [recorded] if recorded else []
    branch = (permission.changed_branch or "") if permission.action in _CHANGES else None
    for kind, name in names:
        for action in _denying(kind, permission.action):
            yield Permission(action, name, branch=branch)


def _denying(kind: _Kind, action: str) -> tuple[Action, ...]:
    if action == Action.READ_OBJECT:
        return (kind.read,)
    if action == Action.WRITE_OBJECT:  # it may create it, or change it
        return (kind.create, kind.update)
    return (kind.delete,) if action == Action.DELETE_OBJECT else ()


def _recorded(repository: str, path: str) -> tuple[_Kind, str] | None:
    """Returns what has its record at a path, with its name in ARNs; None for any other path."""
    kind = _BY_FILE.get(path.rpartition("/")[2]) if path.startswith(RECORDS_ROOT) else None
    return None if kind is None else (kind, _arn_of(kind, repository, path))


def _arn_of(kind: _Kind, repository: str, path: str) -> str:
    return _arn(kind, repository, path.rpartition("/")[0].removeprefix(RECORDS_ROOT))


def _arn(kind: _Kind, repository: str, folder: str) -> str:
    return f"{CATALOG}{kind.noun}/{repository}/{folder.strip('/').replace('@', '%40')}"
