"""Storage namespaces: the error for invalid ones, and their normalisation."""

from __future__ import annotations

from anabranch.blocks.contract import BlockStore, StorageConfig
from anabranch.errors import Invalid

__all__ = ["invalid_namespace", "kept_namespace"]


def invalid_namespace(config: StorageConfig) -> Invalid:
    """Returns the error for an invalid storage namespace, with lakeFS's text."""
    regex = config.namespace_validity_regex
    return Invalid(
        f"failed to match required regex {regex}: invalid namespace",
        kind="invalid_storage_namespace",
        hint=f"For example {config.blockstore_namespace_example}",
    )


def kept_namespace(shown: str, blocks: BlockStore) -> str:
    """Returns the prefix of addresses in a storage namespace that a server returned, which is the
    text that its creator wrote. Returns a namespace of another store unchanged.
    """
    return blocks.namespace(shown) if blocks.accepts(shown) else shown
