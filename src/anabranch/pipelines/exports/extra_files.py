"""Files at a destination that an exported commit does not have."""

from __future__ import annotations

from collections.abc import Container, Iterator

from anabranch import _kernel as kernel
from anabranch.model.names import encode_path
from anabranch.pipelines.exports.chunked import chunked
from anabranch.pipelines.exports.destination import Destination
from anabranch.versioning.trees.trees import translate_errors

__all__ = ["remove_extra_files"]

_PAGE = 1_000


def remove_extra_files(
    destination: Destination,
    tree: kernel.Tree,
    own: Container[str],
    after: str = "",
    last: str = "",
) -> int:
    """Removes the files after `after` and not after `last`, if it is given, that are neither in a
    tree nor the export's `own`; returns their number. Raises Gone and Corrupt for tables that are
    missing or damaged.
    """
    removed = 0
    for page in chunked(_extra(destination, tree, own, after, last), _PAGE):
        destination.remove(page)
        removed += len(page)
    return removed


def _extra(
    destination: Destination, tree: kernel.Tree, own: Container[str], after: str, last: str
) -> Iterator[str]:
    for path in destination.paths(after, last):
        if path not in own:
            with translate_errors():
                known = tree.get(encode_path(path)) is not None
            if not known:
                yield path
