"""The addresses of the catalog, and the repository and reference that each request is about.

    /iceberg/v1/REPO/REF/namespaces/…                   the prefix that `/iceberg/v1/config` gives
    /iceberg/v1/REPO%2FREF/namespaces/…                 the same, as clients may encode it
    /iceberg/api/v1/namespaces/REPO%1FREF%1FNAME/…      lakeFS's form: both are in the namespace
    /iceberg/relative_to/REPO.REF/api/v1/namespaces/…   lakeFS's form for clients without levels

In all of them, the parts of a namespace have a 0x1F between them.
"""

from __future__ import annotations

from typing import NamedTuple
from urllib.parse import unquote

from anabranch.catalog.tables.iceberg.identifiers import Namespace
from anabranch.catalog.tables.iceberg.places import Place
from anabranch.errors import Invalid, NotFound

__all__ = ["BASE_PATH", "Scope", "Target", "parse_namespace", "parse_path", "parse_warehouse"]

BASE_PATH = "/iceberg"
_SEPARATOR = "\x1f"
_PLACE_PARTS = 2


class Scope(NamedTuple):
    """What an address names before the namespace: nothing, a repository, or one and a reference."""

    base: tuple[str, ...]

    def full(self, namespace: Namespace) -> tuple[str, ...]:
        """Returns repository, reference and namespace as one name, as long as they are given."""
        return self.base + namespace

    def place(self, namespace: Namespace) -> Place:
        """Returns the repository and the reference. Raises NotFound if the names do not tell."""
        full = self.full(namespace)
        if len(full) < _PLACE_PARTS:
            raise NotFound(
                f"{'.'.join(full) or 'no name'} has no tables: name a repository and a reference",
                kind="namespace_not_found",
            )
        return Place(*full[:_PLACE_PARTS])

    def inner(self, namespace: Namespace) -> Namespace:
        """Returns the namespace within its reference."""
        return self.full(namespace)[_PLACE_PARTS:]

    def outer(self, place: Place, namespace: Namespace) -> Namespace:
        """Returns a namespace of a reference as the client names it."""
        return (*place, *namespace)[len(self.base) :]


class Target(NamedTuple):
    """A request's scope, and the parts of its path after that, decoded."""

    scope: Scope
    parts: tuple[str, ...]


def parse_path(raw_path: str) -> Target | None:
    """Returns the target of a path as it was sent; None for a path of another gateway. Raises
    Invalid for bytes that are not UTF-8.
    """
    head, _, rest = raw_path.removeprefix(BASE_PATH).removeprefix("/").partition("/")
    if not raw_path.startswith(f"{BASE_PATH}/"):
        return None
    try:
        parts = [unquote(part, errors="strict") for part in rest.rstrip("/").split("/")]
    except UnicodeDecodeError:
        raise Invalid("the path is not UTF-8", kind="invalid_name") from None
    if head == "v1":
        return _with_prefix(parts)
    if head == "api" and parts[0] == "v1":
        return Target(Scope(()), tuple(parts[1:]))
    if head == "relative_to" and parts[1:3] == ["api", "v1"]:
        repository, dot, reference = parts[0].partition(".")
        base = (repository, reference) if dot else (repository,)
        return Target(Scope(base), tuple(parts[3:]))
    return None


def _with_prefix(parts: list[str]) -> Target:
    """Returns the target of a path below `v1`, which begins with a prefix, or has none."""
    if parts == ["config"] or parts[:2] == ["oauth", "tokens"]:
        return Target(Scope(()), tuple(parts))
    repository, slash, reference = parts[0].partition("/")
    if slash:
        return Target(Scope((repository, reference)), tuple(parts[1:]))
    return Target(Scope(tuple(parts[:_PLACE_PARTS])), tuple(parts[_PLACE_PARTS:]))


def parse_warehouse(text: str) -> tuple[str, str]:
    """Returns the repository and the reference, which may be empty, of a warehouse: `REPO/REF`,
    `lakefs://REPO/REF` or `REPO`. Raises Invalid.
    """
    name = text.removeprefix("lakefs://").removeprefix("anabranch://").strip("/")
    repository, _, reference = name.partition("/")
    if not repository or "://" in name or "/" in reference:
        raise Invalid(
            f"{text!r} is no warehouse",
            kind="invalid_warehouse",
            hint="Name a repository and a reference: lakefs://lake/main.",
        )
    return repository, reference


def parse_namespace(text: str) -> Namespace:
    """Returns the namespace in a part of a path or a parameter, decoded; empty for none."""
    return tuple(text.split(_SEPARATOR)) if text else ()
