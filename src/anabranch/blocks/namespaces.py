"""Storage namespaces: the error of one that a store cannot hold, and those that servers show."""

from __future__ import annotations

from anabranch.blocks.contract import BlockStore, StorageConfig
from anabranch.errors import Invalid

__all__ = ["invalid_namespace", "kept_namespace"]


def invalid_namespace(config: StorageConfig) -> Invalid:
    """Returns the error, in lakeFS's words."""
    regex = config.namespace_validity_regex
    return Invalid(
        f"failed to match required regex {regex}: invalid namespace",
        kind="invalid_storage_namespace",
        hint=f"For example {config.blockstore_namespace_example}",
    )


def kept_namespace(shown: str, blocks: BlockStore) -> str:
    """Returns what addresses begin with in a storage namespace as a server shows it, which is the
    text that its creator wrote; one of another store as it is.
    """
    return blocks.namespace(shown) if blocks.accepts(shown) else shown
