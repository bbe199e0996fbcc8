"""The paths of a repository whose objects a user may read.

Listings and differences hold only these. Paths are compared with the policies one by one, and the
statements' resources tell beforehand where nothing is readable, so that a listing can skip those
parts of a repository without reading them.
"""

from __future__ import annotations

import re

from anabranch.access.actors.actor import Actor
from anabranch.access.policies.permissions import ANY, Action, AllBelow, Permission, object_arn
from anabranch.access.policies.statements import Effect

__all__ = ["ReadablePaths"]

_WILDCARD = re.compile(r"\$\{user\}|[*?]")


class ReadablePaths:
    """The readable paths of one repository."""

    def __init__(self, actor: Actor, repository: str) -> None:
        self._actor = actor
        self._repository = repository
        roots, self._hidden = self._literal_prefixes()
        self._roots = [
            root
            for root in sorted(roots, key=_encode)
            if not any(root != other and root.startswith(other) for other in roots)
        ]

    def __contains__(self, path: str) -> bool:
        """Returns whether the object at a path may be read."""
        return self._actor.may(self._reading(object_arn(self._repository, path)))

    def contain_all_below(self, prefix: str) -> bool:
        """Returns whether all objects whose paths have a prefix may be read."""
        return self._actor.may(self._reading(AllBelow(object_arn(self._repository, prefix))))

    def roots(self, prefix: str) -> list[str]:
        """Returns prefixes of all readable paths that have `prefix`, in the order of their bytes:
        `prefix` itself, or longer ones, of which none is a prefix of another.
        """
        if any(prefix.startswith(root) for root in self._roots):
            return [prefix]
        return [root for root in self._roots if root.startswith(prefix)]

    def hidden_prefix(self, path: str) -> str | None:
        """Returns a prefix of the path below which nothing is readable; None if none is known."""
        return next((prefix for prefix in self._hidden if path.startswith(prefix)), None)

    def _literal_prefixes(self) -> tuple[set[str], list[str]]:
        """Returns the prefixes below which a statement allows something, and those below which one
        denies everything.
        """
        roots, hidden = set(), []
        everything = _name(object_arn(self._repository, ""))
        for statement in self._actor.statements_naming(Action.READ_OBJECT):
            for resource in statement.resources:
                literal, rest = _literal(resource)
                if literal.startswith(everything):
                    path = literal.removeprefix(everything)
                elif rest and everything.startswith(literal):
                    path = ""
                else:
                    continue
                if statement.effect is Effect.ALLOW:
                    roots.add(path)
                elif rest == "*":
                    hidden.append(path)
        return roots, hidden

    def _reading(self, resource: str) -> Permission:
        return Permission(Action.READ_OBJECT, resource)


def _literal(resource: str) -> tuple[str, str]:
    """Returns the name in a resource up to its first wildcard, and the rest."""
    name = resource if resource == ANY else _name(resource)
    wildcard = _WILDCARD.search(name)
    start = wildcard.start() if wildcard else len(name)
    return name[:start], name[start:]


def _name(resource: str) -> str:
    """Returns the last field of a resource, which alone may have wildcards."""
    return resource.split(":", 5)[-1]


def _encode(path: str) -> bytes:
    return path.encode("utf-8", "surrogateescape")
