"""The ranges of all commits, each once, from the metaranges that list them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from anabranch import _kernel as kernel
from anabranch.blocks.contract import BlockStore
from anabranch.errors import Corrupt, Gone, Invalid
from anabranch.model.repositories.repository import Repository
from anabranch.pipelines.jobs.parallel_map import parallel_map
from anabranch.pipelines.jobs.progress import Progress
from anabranch.pipelines.verification.findings import Finding
from anabranch.pipelines.verification.stores.table_files import (
    missing_finding,
    stored_table,
    table_finding,
    table_problem,
)
from anabranch.versioning.trees.trees import translate_errors

__all__ = ["ListedRange", "Ranges"]


class ListedRange(NamedTuple):
    """A range, a metarange that lists it, and whether its objects must exist."""

    info: kernel.RangeInfo
    metarange_id: str
    is_required: bool


class _Tree(NamedTuple):
    metarange_id: str
    commit_id: str


class Ranges:
    """The distinct ranges of a repository. Memory grows with their number."""

    def __init__(self, repository: Repository, blocks: BlockStore) -> None:
        self._repository = repository
        self._blocks = blocks
        self.listed: dict[str, ListedRange] = {}

    def read(
        self, trees: Mapping[str, str], required: set[str], progress: Progress
    ) -> Iterator[Finding]:
        """Reads the metaranges `trees`, which are mapped to a commit that has each, and yields what
        is wrong with them. The objects of the trees in `required` must exist.
        """
        work = (_Tree(*pair) for pair in trees.items())
        for (tree, _), (infos, finding) in zip(
            trees.items(), parallel_map(self._infos, work), strict=True
        ):
            progress.advance(1)
            if finding is not None:
                yield finding
            else:
                yield from self._add(tree, infos, is_required=tree in required)

    def _infos(self, tree: _Tree) -> tuple[list[kernel.RangeInfo], Finding | None]:
        metarange_id, commit_id = tree
        named = self._repository, metarange_id, commit_id
        try:
            with stored_table(self._blocks, self._repository, metarange_id) as path:
                problem = table_problem(path, metarange_id)
                if problem:
                    return [], table_finding(*named, problem)
                with translate_errors():  # this verifies the order of the ranges
                    return kernel.Tables().tree(metarange_id, lambda _: path).ranges(), None
        except Gone:
            return [], missing_finding(*named)
        except (Corrupt, Invalid) as error:  # the id may be none of a table
            return [], table_finding(*named, error.message)

    def _add(
        self, metarange_id: str, infos: Iterable[kernel.RangeInfo], *, is_required: bool
    ) -> Iterator[Finding]:
        for info in infos:
            known = self.listed.get(info.id)
            if known is None:
                self.listed[info.id] = ListedRange(info, metarange_id, is_required)
                continue
            if _description(known.info) != _description(info):
                yield Finding(
                    *("tables", "range_description", f"{self._repository.id} {info.id}"),
                    f"the metaranges {metarange_id} and {known.metarange_id} describe this range "
                    "differently",
                )
            if is_required and not known.is_required:
                self.listed[info.id] = known._replace(is_required=True)


def _description(info: kernel.RangeInfo) -> tuple[bytes, bytes, int]:
    return info.min_key, info.max_key, info.count
