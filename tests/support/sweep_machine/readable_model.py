"""What must stay readable while garbage is collected, as plain dictionaries.

The model knows the bytes of every address that was ever stored, and of each reference the addresses
that a reader of it sees. It is brought up to date after each step that anything takes, so it tells
at which step an object was lost that something still referred to.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from anabranch.library import Lake
from anabranch.model.objects.stat import Stat
from anabranch.model.repositories.retention import RetentionRules
from support.sweep_machine.retention_model import ModelCommit, active_in_model

__all__ = ["IMAGES", "ReadableModel", "RepositoryView"]

IMAGES = "image"
_MANY = 1000


class RepositoryView(NamedTuple):
    """What a repository's references mean: of each branch its head and the addresses by path that
    its readers see, staged changes included; of each tag its commit; and the rules of retention.
    """

    heads: Mapping[str, str]
    shown: Mapping[str, Mapping[str, str]]
    tags: Mapping[str, str]
    rules: RetentionRules | None


class ReadableModel:
    """The model of some repositories of a lake, and of its images. `clock` gives seconds since
    1970.
    """

    def __init__(
        self, lake: Lake, repositories: tuple[str, ...], clock: Callable[[], float]
    ) -> None:
        self._lake = lake
        self._blocks = lake.blocks
        self._repositories = repositories
        self._clock = clock
        self.bytes: dict[str, bytes] = {}
        """What was stored, by full address."""
        self.lost: set[str] = set()
        """Addresses whose objects were removed when nothing referred to them."""
        self.commits: dict[str, dict[str, ModelCommit]] = {name: {} for name in repositories}
        self.views: dict[str, RepositoryView] = {}
        self.images: dict[str, Mapping[str, str]] = {}
        self.living: dict[str, str] = {}
        """What must be there: addresses, with one of those that refer to each."""
        self.refresh()

    @property
    def unneeded(self) -> set[str]:
        """The addresses that nothing refers to and that were not removed yet."""
        return self.bytes.keys() - self.living.keys() - self.lost

    def settle(self) -> None:
        """Holds what is stored against what must be. Raises AssertionError for an object that is
        lost or that has other bytes.
        """
        for address, body in self.bytes.items():
            if address in self.lost:
                continue
            there = self._blocks.stat(address) is not None
            needed_by = self.living.get(address)
            if not there:
                assert needed_by is None, f"{address} was removed, {needed_by} needs it"
                self.lost.add(address)
            else:
                assert self._blocks.read(address) == body, f"{address} has other bytes"

    def refresh(self) -> None:
        """Reads the references of the lake."""
        self.views = {name: self.view(name) for name in self._repositories}
        self.images = self.view_images()
        self.living = {}
        for address, reader in self._references():
            self.living.setdefault(address, reader)
            if address not in self.bytes:
                self.bytes[address] = self._blocks.read(address)

    def active(self, repository: str) -> set[str]:
        """Returns the ids of the active commits of a repository."""
        view, commits = self.views[repository], self.commits[repository]
        tagged = view.tags.values()
        return active_in_model(commits, view.heads, tagged, view.rules, self._clock())

    def readable(self) -> Iterator[tuple[str, str, str, bytes]]:
        """Yields what can be read: repository, reference, path and bytes."""
        for repository, view in self.views.items():
            references = dict(view.shown)
            for commit in self.active(repository):
                references[commit] = self.commits[repository][commit].objects
            for reference, shown in references.items():
                for path, address in shown.items():
                    if address not in self.lost:
                        yield repository, reference, path, self.bytes[address]
        for tag, shown in self.images.items():
            for path, address in shown.items():
                if address not in self.lost:
                    yield IMAGES, tag, path, self.bytes[address]

    def view(self, repository: str) -> RepositoryView:
        """Returns what the references of a repository mean now; new heads become known commits."""
        lake = self._lake
        branches = lake.branches.list(repository, amount=_MANY, show_hidden=True).items
        heads = {branch.id: branch.commit_id for branch in branches}
        tags = {tag.id: tag.commit_id for tag in lake.tags.list(repository, amount=_MANY).items}
        for commit_id in (*heads.values(), *tags.values()):
            if commit_id not in self.commits[repository]:
                self._note(repository, commit_id)
        return RepositoryView(
            heads,
            {name: self._shown(repository, name) for name in heads},
            tags,
            lake.core.rules.find(lake.core.repositories.get(repository)),
        )

    def view_images(self) -> dict[str, Mapping[str, str]]:
        """Returns the addresses by path of each image."""
        if self._lake.images.repository.find() is None:
            return {}
        tags = [image.tag for image in self._lake.images.list(amount=_MANY).items]
        return {tag: self.images.get(tag) or self._shown(IMAGES, tag) for tag in tags}

    def _note(self, repository: str, commit_id: str) -> None:
        commit = self._lake.commits.get(repository, commit_id)
        created = commit.creation_date + commit.nanos / 1e9
        parent = commit.parents[0] if commit.parents else ""
        objects = self._shown(repository, commit_id)
        self.commits[repository][commit_id] = ModelCommit(created, parent, objects)

    def _shown(self, repository: str, reference: str) -> Mapping[str, str]:
        objects = self._lake.objects.listing(repository, reference, amount=_MANY).items
        return {stat.path: stat.physical_address for stat in objects if isinstance(stat, Stat)}

    def _references(self) -> Iterator[tuple[str, str]]:
        """Yields the addresses that something refers to, and what does."""
        for repository, view in self.views.items():
            for branch, shown in view.shown.items():
                for path, address in shown.items():
                    yield address, f"{path} on branch {branch} of {repository}"
            for commit in self.active(repository):
                for path, address in self.commits[repository][commit].objects.items():
                    yield address, f"{path} of commit {commit} of {repository}"
        for tag, shown in self.images.items():
            for path, address in shown.items():
                yield address, f"{path} of the image {tag}"
