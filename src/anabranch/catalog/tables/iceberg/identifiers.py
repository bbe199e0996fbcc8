"""Names of namespaces, tables and views, and the paths of their records.

    _tables/city/namespace.json             the namespace `city`
    _tables/city/trips/table.json           the table `trips` in it
    _tables/city/trips/view.json            a view of that name
    _tables/city/raw/namespace.json         the namespace `city.raw`

Each part of a name is percent-encoded, so that it is one part of a path whatever it contains.
"""

from __future__ import annotations

import re
from typing import NamedTuple
from urllib.parse import quote, unquote

from anabranch.errors import Invalid
from anabranch.model.names import check_path
from anabranch.model.tables.table_record import (
    NAMESPACE_FILE,
    RECORDS_ROOT,
    TABLE_FILE,
    VIEW_FILE,
)

__all__ = [
    "NAMESPACE_FILE",
    "TABLE_FILE",
    "VIEW_FILE",
    "Identifier",
    "Namespace",
    "check_namespace",
    "decode_part",
    "encode_part",
    "identifier_at",
    "namespace_path",
    "namespace_prefix",
    "other_record_path",
    "record_path",
]


_MAX_LEVELS = 32
_SAFE = "!$&'()+,;=@ "
"""Characters besides letters, digits and `_.-~` that stand for themselves."""

_PLAIN = re.compile(r"[A-Za-z0-9_.~-]+")
"""What is never encoded, but for names of dots alone."""

Namespace = tuple[str, ...]
"""The parts of a namespace's name."""


class Identifier(NamedTuple):
    """The name of a table or a view."""

    namespace: Namespace
    name: str

    def __str__(self) -> str:
        return ".".join((*self.namespace, self.name))


def check_namespace(namespace: Namespace) -> None:
    """Raises Invalid unless a namespace has at least one part, and no empty part."""
    if not namespace:
        raise Invalid("a namespace has at least one part", kind="invalid_namespace")
    if len(namespace) > _MAX_LEVELS:
        raise Invalid(f"a namespace has at most {_MAX_LEVELS} parts", kind="invalid_namespace")
    for part in namespace:
        _check_part(part)


def namespace_prefix(namespace: Namespace) -> str:
    """Returns the prefix of the paths of all records in and below a namespace. Raises Invalid."""
    if not namespace:
        return RECORDS_ROOT
    check_namespace(namespace)
    prefix = RECORDS_ROOT + "".join(f"{encode_part(part)}/" for part in namespace)
    check_path(prefix)
    return prefix


def namespace_path(namespace: Namespace) -> str:
    """Returns the path of a namespace's record. Raises Invalid."""
    path = namespace_prefix(namespace) + NAMESPACE_FILE
    check_path(path)
    return path


def record_path(identifier: Identifier, file: str = TABLE_FILE) -> str:
    """Returns the path of the record of a table or a view. Raises Invalid."""
    check_namespace(identifier.namespace)
    _check_part(identifier.name)
    path = f"{namespace_prefix(identifier.namespace)}{encode_part(identifier.name)}/{file}"
    check_path(path)
    return path


def identifier_at(path: str) -> Identifier | None:
    """Returns the name of the table or view whose record has a path, the reverse of `record_path`;
    None for a path that stands for no name.
    """
    folder = path.removeprefix(RECORDS_ROOT).rpartition("/")[0]
    parts = [decode_part(part) for part in folder.split("/")]
    names = [name for name in parts if name is not None]
    if len(names) < len(parts) or not names[1:]:
        return None
    return Identifier(tuple(names[:-1]), names[-1])


def other_record_path(identifier: Identifier, file: str) -> str:
    """Returns the path of the record that a view of the name of a table would have, and the other
    way round, given the name of the records' files. Only one of both may be there.
    """
    return record_path(identifier, TABLE_FILE if file == VIEW_FILE else VIEW_FILE)


def decode_part(part: str) -> str | None:
    """Returns the part of a name that stands in a path; None for one that stands for no name, which
    everybody who may write to a path below `_tables/` can store: bytes that are no text, or another
    spelling of a name, by which its record is not found.
    """
    if _PLAIN.fullmatch(part):  # as most are: a thousand tables are listed at once
        return None if part in {".", ".."} else part
    try:
        name = unquote(part, errors="strict")
    except UnicodeDecodeError:
        return None
    return name if name and encode_part(name) == part else None


def _check_part(part: str) -> None:
    if not part:
        raise Invalid("a name may not be empty", kind="invalid_name")
    try:
        part.encode()
    except UnicodeEncodeError:
        raise Invalid("a name is not UTF-8", kind="invalid_name") from None


def encode_part(part: str) -> str:
    """Returns the part of a path that stands for a part of a name."""
    if part in {".", ".."}:  # which clients of S3 would resolve
        return part.replace(".", "%2E")
    return quote(part, safe=_SAFE)
