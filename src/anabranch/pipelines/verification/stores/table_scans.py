"""The look at single tables: whether each has the content that its name says, and what its entries
need. What is looked at and what is found can be sent to other processes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import pyarrow as pa

from anabranch import _kernel as kernel
from anabranch.blocks.contract import BlockStore
from anabranch.errors import Corrupt, Gone, Invalid
from anabranch.model.repositories.repository import Repository
from anabranch.pipelines.verification.findings import Finding
from anabranch.pipelines.verification.stores.entries import EntryReader, RangeSource
from anabranch.pipelines.verification.stores.needed_objects import Needs, needs_of
from anabranch.pipelines.verification.stores.table_files import (
    missing_finding,
    stored_table,
    table_finding,
    table_problem,
)
from anabranch.versioning.trees.trees import translate_errors

__all__ = ["RangeLook", "RangeScan", "TreeLook", "TreeScan", "scan_range", "scan_tree"]


class TreeLook(NamedTuple):
    """A metarange to look at, and a commit that has it."""

    repository: Repository
    metarange_id: str
    commit_id: str


class TreeScan(NamedTuple):
    """The ranges of a metarange; none if there is a finding."""

    infos: list[kernel.RangeInfo]
    finding: Finding | None = None


class RangeLook(NamedTuple):
    """A range to look at, a commit that has it, and whether its objects must exist."""

    repository: Repository
    info: kernel.RangeInfo
    commit_id: str
    is_required: bool


class RangeScan(NamedTuple):
    """What is wrong with a range, and what its entries need."""

    findings: list[Finding]
    needs: list[Needs]


def scan_tree(blocks: BlockStore, look: TreeLook) -> TreeScan:
    """Reads a metarange."""
    try:
        with stored_table(blocks, look.repository, look.metarange_id) as path:
            problem = table_problem(path, look.metarange_id)
            if problem:
                return TreeScan([], table_finding(*look, problem))
            with translate_errors():  # this verifies the order of the ranges
                tree = kernel.Tables().tree(look.metarange_id, lambda _: path)
                return TreeScan(tree.ranges())
    except Gone:
        return TreeScan([], missing_finding(*look))
    except (Corrupt, Invalid) as error:  # the id may be none of a table
        return TreeScan([], table_finding(*look, error.message))


def scan_range(
    blocks: BlockStore, reader: EntryReader, roots: Sequence[str], look: RangeLook
) -> RangeScan:
    """Reads a range. What its entries need is only looked for if its objects must exist; `roots`
    are the prefixes of what the store lists.
    """
    repository, info, commit_id, is_required = look
    named = repository, info.id, commit_id
    try:
        with stored_table(blocks, repository, info.id) as path:
            problem = table_problem(path, info.id)
            if problem:
                return RangeScan([table_finding(*named, problem)], [])
            problem = _description_problem(info, path)
            if problem:
                return RangeScan([table_finding(*named, problem, "range_description")], [])
            if not is_required:
                return RangeScan([], [])
            entries = reader.read_range(RangeSource(repository, info), path)
            return RangeScan([], [needs_of(each, roots) for each in entries])
    except Gone:
        return RangeScan([missing_finding(*named)], [])
    except (Corrupt, Invalid, pa.ArrowInvalid) as error:
        return RangeScan([table_finding(*named, f"its entries cannot be read: {error}")], [])


def _description_problem(info: kernel.RangeInfo, path: str) -> str:
    """Returns how a range differs from what its metarange says of it, empty if it does not."""
    properties = kernel.table_properties(path)
    actual = properties["min_key"], properties["max_key"], properties["count"]
    said = info.min_key, info.max_key, b"%d" % info.count
    if actual == said:
        return ""
    return f"its metarange says {_described(said)}, and it has {_described(actual)}"


def _described(keys_and_count: tuple[bytes, bytes, bytes]) -> str:
    first, last, count = (part.decode("utf-8", "backslashreplace") for part in keys_and_count)
    return f"{count} entries from {first!r} to {last!r}"
