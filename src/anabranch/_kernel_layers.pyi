"""A part of the stubs of `_kernel`, not a module: overlays of trees."""

from collections.abc import Callable, Sequence
from typing import final

from anabranch._kernel import Tree, Written

@final
class Layer:
    """The entries of a tree whose keys begin with `prefix`, which is replaced by `target`.

    `single` selects only the entry with the key `prefix`. Addresses relative to the storage
    `namespace` are made full (`AddressType.FULL`); with None they do not change. `leave_out` is
    called from any thread with each name, the key without the prefix; a true result excludes the
    entry. It takes about two microseconds per entry.

    A layer without a namespace and `leave_out`, whose prefix is not replaced, is *unchanged*: its
    ranges are reused without reading them. The new tree's repository must have its tables.
    """

    def __init__(
        self,
        tree: Tree,
        *,
        prefix: bytes = b"",
        target: bytes = b"",
        single: bool = False,
        namespace: str | None = None,
        leave_out: Callable[[bytes], object] | None = None,
    ) -> None: ...

@final
class LayerCounts:
    """The statistics of a layer."""

    found: int
    """The number of its entries, without those that are left out or invalid."""
    skipped: int
    shadowed: int
    """Entries whose key a layer above has too."""
    shadowed_keys: list[bytes]
    """The first ten of their new keys."""
    invalid: int
    """Entries whose new key would be empty or too long, which are not in the tree."""
    invalid_keys: list[bytes]
    """The first ten of their old keys."""
    size: int
    """The total size of the objects found, in bytes; 0 for an unchanged layer."""
    shadowed_size: int
    """The total size of the shadowed objects, in bytes."""

def write_layers(
    layers: Sequence[Layer],
    folder: str,
    *,
    longest_key: int = 1024,
    look: Callable[[int], object] | None = None,
) -> tuple[Written, list[LayerCounts]]:
    """Writes the overlay of layers as a tree into `folder`: if several layers have a key, the last
    layer wins, also if the identities are equal.

    Returns the result, without the tables of unchanged layers, and the counts of each layer. The
    tree is equal, byte for byte, to the one that `write_tree` writes for the same entries: it does
    not depend on the range boundaries of the layers. Entries keep their identities, which do not
    depend on addresses. Unfit keys are not an error; the caller must not use such a tree.

    Several threads write large layers. `look` is called on the caller's thread, about every 16,000
    entries and at the end, with the number of entries processed since the call before. Exceptions
    of `look` and `leave_out` cancel the work. Raises KernelError for values that are not entries.
    """
