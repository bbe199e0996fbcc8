"""Images: build one from a Lakefile, try that, list, describe and delete them. These operations are
our own: lakeFS has none such.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any

import msgspec
from msgspec import Meta, field

from anabranch.access.actor import Actor
from anabranch.access.decide import decide
from anabranch.access.permissions import Action, Permission, image_arn
from anabranch.errors import Denied, Invalid, Unauthenticated
from anabranch.model.lakefile_parser import parse_lakefile
from anabranch.pipelines.images.planning import ImageRequest
from anabranch.rest.answer import Answer, json_answer
from anabranch.rest.call import Call
from anabranch.rest.decoding import BodyDecoder
from anabranch.rest.image_shapes import (
    ImageBuild,
    ImageBuildStarted,
    ImageDescription,
    ImageList,
    ImagePreview,
    build_of,
    description_of,
    preview_of,
    summary_of,
)
from anabranch.rest.operation import Need, Operation, Response
from anabranch.rest.pagination import PageOf, amount_of, pagination_of
from anabranch.rest.resources import on_anything, on_image

__all__ = ["OPERATIONS"]

_LONGEST_BYTES = 8 << 20
_WAIT_SECONDS = 10


class ImageCreation(msgspec.Struct, frozen=True, kw_only=True):
    """What to build: a Lakefile, and the values of its build arguments."""

    lakefile: str
    arguments: dict[str, str] = {}
    strict: bool = False
    allow_empty: bool = False


class AtImage(msgspec.Struct, frozen=True, kw_only=True):
    """Parameters of what is about one image."""

    tag: str


class ResolveImage(AtImage, frozen=True, kw_only=True):
    """Parameters of resolveImage."""

    strict: Annotated[bool, Meta(description="refuse references that may move")] = False
    allow_empty: Annotated[bool, Meta(description="take sources without objects")] = False


class BuildImage(ResolveImage, frozen=True, kw_only=True):
    """Parameters of buildImage."""

    wait: Annotated[
        int, Meta(ge=0, le=60, description="seconds after which a build is left to go on")
    ] = _WAIT_SECONDS


class AtBuild(AtImage, frozen=True, kw_only=True):
    """Parameters of imageBuildStatus."""

    id: Annotated[str, Meta(min_length=1, description="the build's name")]


class ListImages(PageOf, frozen=True, kw_only=True):
    """Parameters of listImages."""

    label: Annotated[list[str], Meta(description="only images with it: key=value")] = field(
        default_factory=list
    )


_decode_creation = BodyDecoder(ImageCreation)


def build_image(call: Call[BuildImage, None]) -> Answer:
    """Builds an image: 201 with the image, or 202 with the name of a build that goes on."""
    request = _request(call, call.params)
    started = call.services.builds.build(request, _actor(call), wait_seconds=call.params.wait)
    if started.image is None:
        return json_answer(202, ImageBuildStarted(started.id, request.tag))
    return json_answer(201, description_of(started.image))


def resolve_image(call: Call[ResolveImage, None]) -> ImagePreview:
    """Returns what would be built, and builds nothing."""
    return preview_of(call.services.builds.resolve(_request(call, call.params), _actor(call)))


def build_status(call: Call[AtBuild, None]) -> ImageBuild:
    """Returns how far a build is."""
    return build_of(call.services.builds.status(call.params.tag, call.params.id))


def get_image(call: Call[AtImage, None]) -> ImageDescription:
    """Returns an image."""
    return description_of(call.services.catalog.images.get(call.params.tag))


def list_images(call: Call[ListImages, None]) -> ImageList:
    """Returns a page of the images that the caller may read."""
    asked = call.params
    labels = {}
    for label in asked.label:
        key, equals, value = label.partition("=")
        if not equals:
            raise Invalid(f"label {label!r}: not key=value", kind="invalid_parameter")
        labels[key] = value

    def shown(tag: str) -> bool:
        try:
            decide(call.actor, [Permission(Action.READ_IMAGE, image_arn(tag))])
        except Denied:
            return False
        return True

    page = call.services.catalog.images.list(
        prefix=asked.prefix,
        after=asked.after,
        amount=amount_of(asked.amount),
        labels=labels,
        shown=shown,
    )
    return ImageList(pagination_of(page), [summary_of(image) for image in page.items])


def delete_image(call: Call[AtImage, None]) -> None:
    """Deletes an image."""
    call.services.catalog.images.delete(call.params.tag)


def _request(call: Call[Any, None], asked: ResolveImage) -> ImageRequest:
    """Returns what the body asks to build: a Lakefile as text, or JSON with more."""
    body = _whole(call.request.content)
    media_type = call.request.header("content-type").partition(";")[0].strip().lower()
    text, arguments = body, {}
    strict, allow_empty = asked.strict, asked.allow_empty
    if media_type == "application/json":
        call.request.body = body
        creation = _decode_creation.decode(call.request)
        text, arguments = creation.lakefile.encode("utf-8", "surrogatepass"), creation.arguments
        strict, allow_empty = strict or creation.strict, allow_empty or creation.allow_empty
    lakefile = parse_lakefile(text, arguments)
    return ImageRequest(
        tag=asked.tag,
        lakefile=lakefile,
        text=text.decode(),
        creator=call.committer,
        strict=strict,
        allow_empty=allow_empty,
    )


def _whole(content: Iterable[bytes]) -> bytes:
    pieces = []
    size = 0
    for piece in content:
        size += len(piece)
        if size > _LONGEST_BYTES:
            raise Invalid(f"the body has more than {_LONGEST_BYTES} bytes", kind="body_too_large")
        pieces.append(piece)
    return b"".join(pieces)


def _actor(call: Call[Any, None]) -> Actor:
    if call.actor is None:
        raise Unauthenticated("error authenticating request")
    return call.actor


_IMAGES = "/images"
_IMAGE = _IMAGES + "/{tag}"
_CONTENT = {
    "text/plain": {"schema": {"type": "string", "description": "A Lakefile"}},
    "application/json": {"schema": ImageCreation},
}
_MAY_CREATE = (Need(Action.CREATE_IMAGE, on_image),)
_MAY_READ = (Need(Action.READ_IMAGE, on_image),)

OPERATIONS = (
    Operation(
        id="listImages",
        tag="images",
        method="GET",
        path=_IMAGES,
        summary="list images",
        permission=(Need(Action.READ_IMAGE, on_anything),),
        params=ListImages,
        response=ImageList,
        handler=list_images,
    ),
    Operation(
        id="buildImage",
        tag="images",
        method="POST",
        path=_IMAGE,
        summary="build an image from a Lakefile",
        permission=_MAY_CREATE,
        params=BuildImage,
        stream=True,
        content=_CONTENT,
        status=201,
        response=ImageDescription,
        others=(Response(status=202, description="It goes on", type=ImageBuildStarted),),
        handler=build_image,
    ),
    Operation(
        id="resolveImage",
        tag="images",
        method="POST",
        path=_IMAGE + ":resolve",
        summary="tell what an image would be",
        permission=_MAY_CREATE,
        params=ResolveImage,
        stream=True,
        content=_CONTENT,
        response=ImagePreview,
        handler=resolve_image,
    ),
    Operation(
        id="imageBuildStatus",
        tag="images",
        method="GET",
        path=_IMAGE + ":builds",
        summary="tell how far a build is",
        permission=_MAY_CREATE,
        params=AtBuild,
        response=ImageBuild,
        handler=build_status,
    ),
    Operation(
        id="getImage",
        tag="images",
        method="GET",
        path=_IMAGE,
        summary="describe an image",
        permission=_MAY_READ,
        params=AtImage,
        response=ImageDescription,
        handler=get_image,
    ),
    Operation(
        id="deleteImage",
        tag="images",
        method="DELETE",
        path=_IMAGE,
        summary="delete an image",
        permission=(Need(Action.DELETE_IMAGE, on_image),),
        params=AtImage,
        status=204,
        handler=delete_image,
    ),
)
