"""The resources of each action: what the names of those have in common on which it is decided.

`fs:ReadObject` is decided on `arn:lakefs:fs:::repository/REPOSITORY/object/PATH` alone, so a
statement that names it with the ARN of a repository has no effect.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from enum import Enum
from functools import lru_cache
from string import ascii_letters, digits
from types import MappingProxyType

from anabranch.access.policies.permissions import ANY, CATALOG, Action
from anabranch.access.policies.statements import Effect
from anabranch.patterns.wildcards import matches_name, name_tokens

__all__ = ["can_apply", "general_resources", "resource_names"]

_NAME, _REST, _LEVELS = "NAME", "PATH", "LEVELS"
"""In a name of resources: any name without a slash, any text, and names of levels, encoded."""
_ENCODED = frozenset(f"{ascii_letters}{digits}_.-~!$&'()+,;= %/")
"""What encoded names are made of."""

_FS, _AUTH = "arn:lakefs:fs:::", "arn:lakefs:auth:::"
_REPOSITORY = f"{_FS}repository/{_NAME}"
_OBJECT, _BRANCH, _TAG = (f"{_REPOSITORY}/{noun}/{_REST}" for noun in ("object", "branch", "tag"))
_NAMESPACE, _IMAGE = f"{_FS}namespace/{_REST}", f"{_FS}image/{_REST}"
_USER, _GROUP, _POLICY = (f"{_AUTH}{noun}/{_NAME}" for noun in ("user", "group", "policy"))
_PRINCIPAL = f"{_AUTH}externalPrincipal/{_REST}"
_TABLES, _TABLE, _VIEW = (
    f"{CATALOG}{noun}/{_NAME}/{_LEVELS}" for noun in ("namespace", "table", "view")
)
_ALL_TABLES = f"{CATALOG}namespace/{_NAME}/"
"""All namespaces of a repository."""
_CHANGED_TABLES, _CHANGED_TABLE, _CHANGED_VIEW = (
    f"{name}@{_REST}" for name in (_TABLES, _TABLE, _VIEW)
)
"""The same on one branch."""

_RESOURCES: dict[tuple[str, ...], tuple[Action, ...]] = {
    (ANY, _REPOSITORY): (Action.LIST_REPOSITORIES,),
    (ANY, _IMAGE): (Action.READ_IMAGE,),
    (_IMAGE,): (Action.CREATE_IMAGE, Action.DELETE_IMAGE),
    (_NAMESPACE,): (
        Action.ATTACH_STORAGE_NAMESPACE,
        Action.IMPORT_FROM_STORAGE,
        Action.PURGE_STORAGE_NAMESPACE,
    ),
    (_OBJECT,): (Action.READ_OBJECT, Action.DELETE_OBJECT),
    (_REPOSITORY, _OBJECT): (Action.WRITE_OBJECT,),
    (_REPOSITORY, _BRANCH): (Action.CREATE_BRANCH, Action.CREATE_COMMIT),
    (_BRANCH,): (
        Action.READ_BRANCH,
        Action.DELETE_BRANCH,
        Action.REVERT_BRANCH,
        Action.IMPORT_CANCEL,
    ),
    (_REPOSITORY, _TAG): (Action.CREATE_TAG,),
    (_TAG,): (Action.READ_TAG, Action.DELETE_TAG),
    (ANY,): (
        Action.READ_CONFIG,
        Action.LIST_USERS,
        Action.LIST_GROUPS,
        Action.LIST_POLICIES,
        Action.READ_AUDIT,
    ),
    (_USER,): (
        Action.READ_USER,
        Action.CREATE_USER,
        Action.UPDATE_USER,
        Action.DELETE_USER,
        Action.READ_CREDENTIALS,
        Action.CREATE_CREDENTIALS,
        Action.DELETE_CREDENTIALS,
        Action.LIST_CREDENTIALS,
        Action.CREATE_USER_EXTERNAL_PRINCIPAL,
        Action.DELETE_USER_EXTERNAL_PRINCIPAL,
    ),
    (_PRINCIPAL,): (Action.READ_EXTERNAL_PRINCIPAL,),
    (_GROUP,): (
        Action.READ_GROUP,
        Action.CREATE_GROUP,
        Action.DELETE_GROUP,
        Action.ADD_GROUP_MEMBER,
        Action.REMOVE_GROUP_MEMBER,
    ),
    (_USER, _GROUP): (Action.ATTACH_POLICY, Action.DETACH_POLICY),
    (_POLICY,): (
        Action.READ_POLICY,
        Action.CREATE_POLICY,
        Action.UPDATE_POLICY,
        Action.DELETE_POLICY,
    ),
    (_ALL_TABLES, _TABLES): (Action.LIST_NAMESPACES,),
    (_TABLES,): (Action.GET_NAMESPACE, Action.LIST_TABLES, Action.LIST_VIEWS),
    (_TABLES, _CHANGED_TABLES): (
        Action.CREATE_NAMESPACE,
        Action.UPDATE_NAMESPACE,
        Action.DELETE_NAMESPACE,
    ),
    (_TABLE,): (Action.READ_TABLE,),
    (_TABLE, _CHANGED_TABLE): (Action.CREATE_TABLE, Action.UPDATE_TABLE, Action.DELETE_TABLE),
    (_VIEW,): (Action.READ_VIEW,),
    (_VIEW, _CHANGED_VIEW): (Action.CREATE_VIEW, Action.UPDATE_VIEW, Action.DELETE_VIEW),
}
_BY_ACTION: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {action: names for names, actions in _RESOURCES.items() for action in actions}
)
_LISTED = {Action.LIST_USERS: _USER, Action.LIST_GROUPS: _GROUP, Action.LIST_POLICIES: _POLICY}
_UNUSED = "\U0010fffd\U0010fffe"
_MAX_COMPARED = 2048  # longer ARNs are taken to match


def resource_names(action: str) -> tuple[str, ...]:
    """Returns the names of the resources of an action, or of those that a pattern matches, in
    which `NAME` stands for any name without a slash, `PATH` for any text and `LEVELS` for encoded
    names with slashes between them; `*` is any resource, as for listings.
    """
    known = [each for each in Action if matches_name(action, each, "")]
    return tuple(dict.fromkeys(name for each in known for name in _names(each)))


def _names(action: Action) -> tuple[str, ...]:
    return _BY_ACTION.get(action, (_REPOSITORY,))


def general_resources(action: str) -> list[str]:
    """Returns resources of an action, one of each kind, which only statements about all resources
    of their kind match: no other contains their names.
    """
    names = resource_names(action)
    for part in (_NAME, _REST, _LEVELS):
        names = tuple(name.replace(part, _UNUSED) for name in names)
    return list(names)


@lru_cache(maxsize=4096)
def can_apply(effect: Effect, action: str, resource: str) -> bool:
    """Returns whether a statement with this pattern of actions may allow or deny anything on
    resources that this pattern matches. Actions that are not known here are taken to do.
    """
    known = [each for each in Action if matches_name(action, each, "")]
    if resource == ANY or not known:
        return True
    return any(_can_apply(effect, each, resource, is_named=each == action) for each in known)


def _can_apply(effect: Effect, action: Action, resource: str, *, is_named: bool) -> bool:
    names = _names(action)
    if any(name != ANY and _overlap(resource, name) for name in names):
        return True
    if effect is Effect.DENY or names != (ANY,):
        return False
    # an allowance of any resource lets a user list them; in a pattern, it is meant if it fits
    return is_named or (action in _LISTED and _overlap(resource, _LISTED[action]))


class _Class(Enum):
    """Characters that a wildcard stands for."""

    ANY = "any"
    NO_SLASH = "no slash"
    ENCODED = "encoded"


_CLASSES = {_NAME: _Class.NO_SLASH, _REST: _Class.ANY, _LEVELS: _Class.ENCODED}
_PARTS = re.compile("([/@])")

_Symbol = tuple[str | _Class, bool]
"""A character or a class, and whether it is repeated any number of times."""


def _overlap(resource: str, name: str) -> bool:
    """Returns whether a pattern of resources matches any resource with such a name."""
    fields = resource.split(":", 5)
    head = ":".join([*fields[:3], "", *fields[4:5], ""])
    if len(fields) != 6 or not name.startswith(head):  # noqa: PLR2004  as in statements.py
        return False
    if len(resource) > _MAX_COMPARED:
        return True
    given, wanted = list(_pattern_symbols(fields[5])), list(_name_symbols(name[len(head) :]))
    states, seen = [(0, 0)], {(0, 0)}
    while states:
        one, two = states.pop()
        if (one, two) == (len(given), len(wanted)):
            return True
        for state in _steps(given, wanted, one, two):
            if state not in seen:
                seen.add(state)
                states.append(state)
    return False


def _steps(
    given: list[_Symbol], wanted: list[_Symbol], one: int, two: int
) -> Iterator[tuple[int, int]]:
    """Yields what follows when either skips a repetition, or both take the same character."""
    if one < len(given) and given[one][1]:
        yield one + 1, two
    if two < len(wanted) and wanted[two][1]:
        yield one, two + 1
    if one < len(given) and two < len(wanted) and _share(given[one][0], wanted[two][0]):
        yield one + (not given[one][1]), two + (not wanted[two][1])


def _share(one: str | _Class, two: str | _Class) -> bool:
    """Returns whether any character is of both."""
    if isinstance(one, str) and isinstance(two, str):
        return one == two
    character, of = (one, two) if isinstance(one, str) else (two, one)
    if isinstance(character, _Class):
        return True
    if of is _Class.ENCODED:
        return character in _ENCODED
    return character != "/" or of is not _Class.NO_SLASH


def _pattern_symbols(pattern: str) -> Iterator[_Symbol]:
    for part in name_tokens(pattern):
        if part in {"*", "${user}"}:
            yield _Class.ANY, True
        elif part == "?":
            yield _Class.ANY, False
        else:
            yield from ((character, False) for character in part)


def _name_symbols(name: str) -> Iterator[_Symbol]:
    for part in _PARTS.split(name):
        kind = _CLASSES.get(part)
        if kind is None:
            yield from ((character, False) for character in part)
        else:
            yield from ((kind, False), (kind, True))
