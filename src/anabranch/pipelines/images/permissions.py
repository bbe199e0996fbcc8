"""What who builds an image must be allowed, besides to make it: to list and read all that it is
from. Afterwards whoever may read the image may read it all, as with the image of a container.
"""

from __future__ import annotations

from collections.abc import Iterator

from anabranch.access.permissions import (
    Action,
    AllBelow,
    Permission,
    image_arn,
    namespace_arn,
    object_arn,
    repository_arn,
)
from anabranch.model.lakefile import Add, Lakefile
from anabranch.model.uri import IMAGES

__all__ = ["source_permissions"]


def source_permissions(lakefile: Lakefile) -> Iterator[Permission]:
    """Yields the permissions that the sources of a Lakefile need."""
    layers = list(lakefile.layers)
    if lakefile.base.source is not None:
        layers.append(Add(source=lakefile.base.source, destination=""))
    for layer in layers:
        source = layer.source
        if isinstance(source, str):
            yield Permission(Action.IMPORT_FROM_STORAGE, namespace_arn(source))
        elif source.repository == IMAGES:
            yield Permission(Action.READ_IMAGE, image_arn(source.ref))
        else:
            objects = object_arn(source.repository, source.key)
            yield Permission(Action.LIST_OBJECTS, repository_arn(source.repository))
            yield Permission(Action.READ_OBJECT, AllBelow(objects) if layer.is_prefix else objects)
