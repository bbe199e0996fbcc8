"""What who builds an image must be allowed, besides to make it: to list and read all that it is
from. Afterwards whoever may read the image may read it all, as with the image of a container.
"""

from __future__ import annotations

from collections.abc import Iterator

from anabranch.access.permissions import (
    Action,
    AllBelow,
    Permission,
    namespace_arn,
    object_arn,
    repository_arn,
)
from anabranch.catalog.images import Images
from anabranch.model.lakefile import Add, Lakefile

__all__ = ["source_permissions"]


def source_permissions(lakefile: Lakefile, images: Images) -> Iterator[Permission]:
    """Yields the permissions that the sources of a Lakefile need; of an image it is enough that it
    may be read.
    """
    layers = list(lakefile.layers)
    if lakefile.base.source is not None:
        layers.append(Add(source=lakefile.base.source, destination=""))
    for layer in layers:
        source = layer.source
        if isinstance(source, str):
            yield Permission(Action.IMPORT_FROM_STORAGE, namespace_arn(source))
        else:
            objects = object_arn(source.repository, source.key)
            for permission in (
                Permission(Action.LIST_OBJECTS, repository_arn(source.repository)),
                Permission(Action.READ_OBJECT, AllBelow(objects) if layer.is_prefix else objects),
            ):
                yield images.readable(permission, source.repository, source.ref)
