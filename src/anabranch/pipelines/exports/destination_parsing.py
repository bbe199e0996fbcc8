"""Parsing and validation of export destinations, which must be separate from the lake's data."""

from __future__ import annotations

from collections.abc import Mapping

from anabranch.blocks.contract import BlockStore
from anabranch.errors import Invalid
from anabranch.pipelines.exports.destination import Destination
from anabranch.pipelines.exports.folder import FolderDestination
from anabranch.pipelines.exports.prefix import PrefixDestination

__all__ = ["parse_destination", "require_separate"]

_LOCAL = "local://"
_FILE = "file://"


def parse_destination(text: str, blocks: BlockStore) -> Destination:
    """Returns the destination for a path of a folder on this machine, or an address in the lake's
    own store. Raises Invalid.
    """
    if text.startswith(_FILE):
        text = text.removeprefix(_FILE)
    if "://" in text:
        return PrefixDestination(blocks, text)
    return FolderDestination(text)


def require_separate(
    destination: Destination, namespaces: Mapping[str, str], blocks: BlockStore
) -> None:
    """Raises Invalid if a destination is inside a repository's storage namespace or contains one.
    `namespaces` maps the names of repositories to their storage namespaces.
    """
    place = _normalize(destination.address, blocks)
    for repository, storage_namespace in namespaces.items():
        namespace = _normalize(storage_namespace, blocks)
        if place.startswith(namespace) or namespace.startswith(place):
            raise Invalid(
                f"{destination.address}: the repository {repository} has its data there",
                kind="invalid_destination",
                hint="Export to a folder or prefix outside of all storage namespaces.",
            )


def _normalize(address: str, blocks: BlockStore) -> str:
    """Returns an address in comparable form; a local address becomes its path."""
    if "://" in address:
        address = blocks.qualify(address).removeprefix(_LOCAL)
    return f"{address.rstrip('/')}/"
