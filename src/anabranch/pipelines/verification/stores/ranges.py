"""The ranges of all commits, each once, from the metaranges that list them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from anabranch import _kernel as kernel
from anabranch.model.repositories.repository import Repository
from anabranch.pipelines.jobs.progress import Progress
from anabranch.pipelines.verification.findings import Finding
from anabranch.pipelines.verification.stores.store_looks import StoreLooks
from anabranch.pipelines.verification.stores.table_scans import TreeLook

__all__ = ["ListedRange", "Ranges"]


class ListedRange(NamedTuple):
    """A range, a metarange that lists it, and whether its objects must exist."""

    info: kernel.RangeInfo
    metarange_id: str
    is_required: bool


class Ranges:
    """The distinct ranges of a repository, as `looks` finds them. Memory grows with their
    number.
    """

    def __init__(self, repository: Repository, looks: StoreLooks) -> None:
        self._repository = repository
        self._looks = looks
        self.listed: dict[str, ListedRange] = {}

    def read(
        self, trees: Mapping[str, str], required: set[str], progress: Progress
    ) -> Iterator[Finding]:
        """Reads the metaranges `trees`, which are mapped to a commit that has each, and yields what
        is wrong with them. The objects of the trees in `required` must exist.
        """
        looks = [TreeLook(self._repository, *pair) for pair in trees.items()]
        for tree, (infos, finding) in zip(trees, self._looks.trees(looks), strict=True):
            progress.advance(1)
            if finding is not None:
                yield finding
            else:
                yield from self._add(tree, infos, is_required=tree in required)

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
