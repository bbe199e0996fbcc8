"""Pinning: every reference that a Lakefile names becomes the commit that it means now.

Nothing is read of objects yet. An error about an instruction names its line.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

from anabranch.errors import AnabranchError, Invalid
from anabranch.model.commit import Commit
from anabranch.model.expression import parse_expression
from anabranch.model.image import Remark
from anabranch.model.lakefile import Add, Lakefile
from anabranch.model.repository import Repository
from anabranch.model.uri import IMAGES, LakeUri
from anabranch.versioning.core import Core

__all__ = ["Pinned", "Pinning", "at_line"]


class Pinned(NamedTuple):
    """A layer whose reference is pinned: `place` names the commit, in `repository`; both are None
    for objects that lie in no repository.
    """

    layer: Add
    place: LakeUri | None
    repository: Repository | None
    commit: Commit | None

    @property
    def address(self) -> str:
        """What the layer is from, with the commit in place of the reference."""
        return str(self.layer.source if self.place is None else self.place)


class Pinning:
    """The layers of a Lakefile that is built as the image `tag`, the base first; with `strict`,
    what may move is refused. `expired` says of a commit whether its objects may be removed.
    """

    def __init__(
        self,
        core: Core,
        tag: str,
        expired: Callable[[Repository, str], bool],
        *,
        strict: bool = False,
    ) -> None:
        self._core = core
        self._expired = expired
        self._tag = tag
        self._strict = strict
        self._known: dict[tuple[str, str], tuple[Repository, Commit]] = {}
        self.remarks: list[Remark] = []
        """What is to be said, of each reference once, with the line that names it first."""

    def base(self, lakefile: Lakefile) -> Pinned | None:
        """Returns the base layer, None for none. Raises as `layers` does."""
        source = lakefile.base.source
        if source is None:
            return None
        layer = Add(source=source, destination="", line=lakefile.base.line)
        with at_line(layer.line):
            return self._pinned(layer)

    def layers(self, lakefile: Lakefile) -> list[Pinned]:
        """Returns the layers over the base. Raises NotFound for what is not there, Invalid for an
        image that is from itself and, if strict, for a reference that may move.
        """
        pinned = []
        for layer in lakefile.layers:
            with at_line(layer.line):
                pinned.append(self._pinned(layer))
        return pinned

    def _pinned(self, layer: Add) -> Pinned:
        source = layer.source
        if isinstance(source, str):
            return Pinned(layer, None, None, None)
        repository, commit = self._resolved(layer, source)
        return Pinned(layer, LakeUri(repository.id, commit.id, source.key), repository, commit)

    def _resolved(self, layer: Add, source: LakeUri) -> tuple[Repository, Commit]:
        """Returns the commit that a reference means. It is asked for once: what one Lakefile names
        twice means the same both times, though a branch may move meanwhile.
        """
        name = (source.repository, source.ref)
        if name not in self._known:
            self._known[name] = self._resolve(layer, source)
        return self._known[name]

    def _resolve(self, layer: Add, source: LakeUri) -> tuple[Repository, Commit]:
        expression = parse_expression(source.ref)
        if source.repository == IMAGES and expression.base == self._tag:
            raise Invalid(
                f"the image {self._tag} cannot be made from itself",
                kind="image_cycle",
                hint="Build it under another tag.",
            )
        found = self._core.repositories.get(source.repository)
        commit = self._core.references.commit(found, source.ref)
        if self._core.branches.find(found, expression.base) is not None:
            self._moving(layer, source, commit)
        if self._expired(found, commit.id):
            message = (
                f"lakefs://{found.id}/{commit.id} has expired: garbage collection may have removed "
                "objects of it that nothing else holds"
            )
            self.remarks.append(Remark("expired", message, layer.line))
        return found, commit

    def _moving(self, layer: Add, source: LakeUri, commit: Commit) -> None:
        where = f"lakefs://{source.repository}/{source.ref}"
        if self._strict:
            raise Invalid(
                f"{where} may mean another commit tomorrow, which is refused",
                kind="mutable_reference",
                hint=f"Name a tag, or the commit: lakefs://{source.repository}/{commit.id}.",
            )
        message = f"{where} is pinned to the commit {commit.id}; what is not committed is left out"
        self.remarks.append(Remark("pinned", message, layer.line))


@contextmanager
def at_line(line: int) -> Iterator[None]:
    """Puts the line of an instruction before the message of an error that is raised meanwhile."""
    try:
        yield
    except AnabranchError as error:
        error.message = f"Lakefile:{line}: {error.message}"
        error.args = (error.message,)
        raise
