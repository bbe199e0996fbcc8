"""Which places an export may go to: none among the lake's own data, nor around them."""

from __future__ import annotations

from collections.abc import Mapping

from anabranch.blocks.contract import BlockStore
from anabranch.errors import Invalid
from anabranch.pipelines.exports.destination import Destination
from anabranch.pipelines.exports.folder import FolderDestination
from anabranch.pipelines.exports.prefix import PrefixDestination

__all__ = ["place_of", "require_apart"]

_LOCAL = "local://"
_FILE = "file://"


def place_of(text: str, blocks: BlockStore) -> Destination:
    """Returns the place that a text names: a folder of this machine by its path, anything else by
    its address in the lake's own store. Raises Invalid.
    """
    if text.startswith(_FILE):
        text = text.removeprefix(_FILE)
    if "://" in text:
        return PrefixDestination(blocks, text)
    return FolderDestination(text)


def require_apart(
    destination: Destination, namespaces: Mapping[str, str], blocks: BlockStore
) -> None:
    """Raises Invalid if a place lies in a repository's storage namespace, or around it; those are
    given by the repositories' names.
    """
    place = _comparable(destination.address, blocks)
    for repository, storage_namespace in namespaces.items():
        namespace = _comparable(storage_namespace, blocks)
        if place.startswith(namespace) or namespace.startswith(place):
            raise Invalid(
                f"{destination.address}: the repository {repository} has its data there",
                kind="invalid_destination",
                hint="Export to a place apart from the storage namespaces of all repositories.",
            )


def _comparable(address: str, blocks: BlockStore) -> str:
    """Returns an address in the form that all have; a local one is its path."""
    if "://" in address:
        address = blocks.qualify(address).removeprefix(_LOCAL)
    return f"{address.rstrip('/')}/"
