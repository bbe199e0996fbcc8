"""Resolution of a Lakefile's references to their current commits.

Objects are not read yet. An error about an instruction names its line.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

from anabranch.errors import AnabranchError, Invalid
from anabranch.model.commits.commit import Commit
from anabranch.model.image import PlanWarning
from anabranch.model.lakefile.instructions import Add, Lakefile
from anabranch.model.references.expression import parse_expression
from anabranch.model.repositories.repository import Repository
from anabranch.model.uri import IMAGES, LakeUri
from anabranch.versioning.core import Core

__all__ = ["Pinned", "ReferencePinner", "at_line"]


class Pinned(NamedTuple):
    """A layer whose reference is pinned: `place` names the commit, in `repository`; both are None
    for external objects.
    """

    layer: Add
    place: LakeUri | None
    repository: Repository | None
    commit: Commit | None

    @property
    def address(self) -> str:
        """The source of the layer, with the commit in place of the reference."""
        return str(self.layer.source if self.place is None else self.place)


class ReferencePinner:
    """Pins the references of a Lakefile that is built as the image `tag`. With `strict`,
    references that may move are rejected. `expired` returns whether the objects of a commit may be
    removed.
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
        self._resolved: dict[tuple[str, str], tuple[Repository, Commit]] = {}
        self.remarks: list[PlanWarning] = []
        """Warnings, one for each reference, with the line of its first use."""

    def base(self, lakefile: Lakefile) -> Pinned | None:
        """Returns the base layer, None for none. Raises the errors of `layers`."""
        source = lakefile.base.source
        if source is None:
            return None
        layer = Add(source=source, destination="", line=lakefile.base.line)
        with at_line(layer.line):
            return self._pin(layer)

    def layers(self, lakefile: Lakefile) -> list[Pinned]:
        """Returns the layers above the base. Raises NotFound for references that do not exist,
        Invalid for an image that is its own source and, if strict, for a reference that may move.
        """
        pinned = []
        for layer in lakefile.layers:
            with at_line(layer.line):
                pinned.append(self._pin(layer))
        return pinned

    def _pin(self, layer: Add) -> Pinned:
        source = layer.source
        if isinstance(source, str):
            return Pinned(layer, None, None, None)
        repository, commit = self._resolve_once(layer, source)
        return Pinned(layer, LakeUri(repository.id, commit.id, source.key), repository, commit)

    def _resolve_once(self, layer: Add, source: LakeUri) -> tuple[Repository, Commit]:
        """Returns the commit of a reference. A reference is resolved once, so that all layers of a
        Lakefile use one commit even if a branch moves meanwhile.
        """
        name = (source.repository, source.ref)
        if name not in self._resolved:
            self._resolved[name] = self._resolve(layer, source)
        return self._resolved[name]

    def _resolve(self, layer: Add, source: LakeUri) -> tuple[Repository, Commit]:
        expression = parse_expression(source.ref)
        if source.repository == IMAGES and expression.base == self._tag:
            raise Invalid(
                f"the image {self._tag} cannot be its own source",
                kind="image_cycle",
                hint="Build it under another tag.",
            )
        repository = self._core.repositories.get(source.repository)
        commit = self._core.references.commit(repository, source.ref)
        if self._core.branches.find(repository, expression.base) is not None:
            self._warn_moving(layer, source, commit)
        if self._expired(repository, commit.id):
            message = (
                f"lakefs://{repository.id}/{commit.id} has expired: garbage collection may have "
                "removed objects that nothing else references"
            )
            self.remarks.append(PlanWarning("expired", message, layer.line))
        return repository, commit

    def _warn_moving(self, layer: Add, source: LakeUri, commit: Commit) -> None:
        address = f"lakefs://{source.repository}/{source.ref}"
        if self._strict:
            raise Invalid(
                f"{address} may point to another commit later, and strict builds reject it",
                kind="mutable_reference",
                hint=f"Name a tag, or the commit: lakefs://{source.repository}/{commit.id}.",
            )
        message = (
            f"{address} is pinned to the commit {commit.id}; uncommitted "
            "changes are not in the image"
        )
        self.remarks.append(PlanWarning("pinned", message, layer.line))


@contextmanager
def at_line(line: int) -> Iterator[None]:
    """Adds the line of an instruction to the message of an error that is raised in the context."""
    try:
        yield
    except AnabranchError as error:
        error.message = f"Lakefile:{line}: {error.message}"
        error.args = (error.message,)
        raise
