"""The end of an import: what was gathered as a tree takes its place on a branch, by one commit."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import msgspec

from anabranch import _kernel as kernel
from anabranch.errors import DirtyBranch
from anabranch.keyvalue.contract import Expect, Write
from anabranch.model.commit import Commit
from anabranch.model.imports import ImportSource
from anabranch.model.repository import Repository
from anabranch.pipelines.imports.entries import destination_of
from anabranch.pipelines.imports.replacing import Change, replacement
from anabranch.versioning.branches import StoredBranch
from anabranch.versioning.core import Core
from anabranch.versioning.trees import NewTables

__all__ = ["DEFAULT_MESSAGE", "ImportRequest", "Landing", "require_clean"]

_BETWEEN_LOOKS = 1_024
DEFAULT_MESSAGE = "Import objects"
_STRATEGY = {".lakefs.merge.strategy": "source-wins"}
_LAST_IMPORT = ".lakefs.last.import.timestamp"

Completion = Callable[[Commit], tuple[Sequence[Write], Sequence[Expect]]]


class ImportRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What is imported onto which branch, and how it is committed; `date` in seconds since 1970,
    that of the commit if None.
    """

    branch: str
    sources: Sequence[ImportSource]
    committer: str
    message: str = ""
    metadata: Mapping[str, str] = {}
    date: int | None = None


def require_clean(core: Core, repository: Repository, branch: str) -> None:
    """Raises DirtyBranch if a branch has uncommitted changes, NotFound if there is none: what an
    import would come to in the end.
    """
    found = core.branches.read(repository, branch).branch
    if core.difference.is_dirty(repository, found.commit_id, found.tokens):
        raise DirtyBranch("uncommitted changes (dirty branch)")


class Landing:
    """Puts the tree `gathered`, whose new tables lie in `folder`, onto a branch, in place of all
    that is under the destinations of the request's prefixes. `look` is called now and then, and
    raises to stop.
    """

    def __init__(
        self,
        core: Core,
        repository: Repository,
        request: ImportRequest,
        folder: str,
        gathered: NewTables,
        look: Callable[[], None] = lambda: None,
        *,
        adopted: bool = False,
    ) -> None:
        self._core = core
        self._repository = repository
        self._request = request
        self._folder = folder
        self._gathered = gathered
        self._look = look
        self._adopted = gathered.metarange_id if adopted else ""
        self._made: dict[str, str] = {}

    def commit(self, completion: Completion | None = None) -> Commit:
        """Returns the commit that the branch was moved to, in one step with what `completion`
        decides to write. Raises DirtyBranch, NotFound; then the branch is as it was.
        """
        core, request, repository = self._core, self._request, self._repository

        def make(stored: StoredBranch, head: Commit) -> Commit:
            core.committing.require_clean(repository, stored.branch)
            return core.commits.make(
                committer=request.committer,
                message=request.message or DEFAULT_MESSAGE,
                metarange_id=self._replaced(head.metarange_id),
                metadata={**request.metadata, **_STRATEGY},
                parents=[head],
                date=request.date,
            )

        # the long part comes before the branch's turn is taken; it holds if nobody commits
        branch = core.branches.read(repository, request.branch).branch
        self._replaced(core.commits.get(repository, branch.commit_id).metarange_id)
        return core.committing.advance(
            repository, request.branch, make, completion, trusts_tree=False
        )

    def remember(self, now: float) -> None:
        """Writes down, where lakeFS does, that there was an import; `now` in seconds since 1970."""
        self._core.repositories.change_metadata(self._repository, put={_LAST_IMPORT: f"{int(now)}"})

    def _replaced(self, head: str) -> str:
        """Returns the tree that has what was imported in place of what is there in the head's."""
        if head not in self._made:
            self._made[head] = self._replace(head)
        return self._made[head]

    def _replace(self, head: str) -> str:
        trees, repository = self._core.trees, self._repository
        if head == kernel.EMPTY_TREE_ID:
            self._adopted = self._adopted or trees.adopt(repository, self._folder, self._gathered)
            return self._adopted
        prefixes = [
            destination_of(source)
            for source in self._request.sources
            if source.type == "common_prefix"
        ]
        if self._adopted:  # by the caller; or another commit came first
            imported = trees.open(repository, self._adopted)
        else:
            imported = trees.open_in(self._folder, self._gathered.metarange_id)
        tree = trees.open(repository, head)

        def apply(folder: str) -> kernel.Written:
            changes = replacement(tree, imported, prefixes)
            return tree.apply(self._looking(changes), folder)

        return trees.write(repository, apply, lambda written: written).metarange_id

    def _looking(self, changes: Iterable[Change]) -> Iterator[Change]:
        """Yields changes, as long as the import goes on."""
        for number, change in enumerate(changes):
            if not number % _BETWEEN_LOOKS:
                self._look()
            yield change
