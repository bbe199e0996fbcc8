"""Permissions that a build needs in addition to the one to create the image: to list and read all
sources. Permission to read the image then covers all of its objects, as with container images.
"""

from __future__ import annotations

from collections.abc import Iterator

from anabranch.access.policies.permissions import (
    Action,
    AllBelow,
    Permission,
    namespace_arn,
    object_arn,
    repository_arn,
)
from anabranch.blocks.admitted_addresses import source_spellings
from anabranch.blocks.contract import BlockStore
from anabranch.catalog.images.images import Images
from anabranch.model.lakefile.instructions import Add, Lakefile

__all__ = ["source_permissions"]


def source_permissions(
    lakefile: Lakefile, images: Images, blocks: BlockStore
) -> Iterator[Permission]:
    """Yields the permissions that the sources of a Lakefile need; for an image, permission to read
    it is enough, and an address of the store is named in all its spellings.
    """
    layers = list(lakefile.layers)
    if lakefile.base.source is not None:
        layers.append(Add(source=lakefile.base.source, destination=""))
    for layer in layers:
        source = layer.source
        if isinstance(source, str):
            for spelling in source_spellings(blocks, source):
                yield Permission(Action.IMPORT_FROM_STORAGE, namespace_arn(spelling))
        else:
            objects = object_arn(source.repository, source.key)
            for permission in (
                Permission(Action.LIST_OBJECTS, repository_arn(source.repository)),
                Permission(Action.READ_OBJECT, AllBelow(objects) if layer.is_prefix else objects),
            ):
                yield images.permission_for_reading(permission, source.repository, source.ref)
