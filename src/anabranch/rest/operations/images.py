"""Images: build from a Lakefile, resolve without building, list, get, delete. lakeFS does not have
these operations.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any

import msgspec
from msgspec import Meta, field

from anabranch.access.actors.actor import Actor
from anabranch.access.actors.authorize import authorize
from anabranch.access.policies.permissions import Action, Permission, image_arn
from anabranch.errors import Denied, Invalid, Unauthenticated
from anabranch.http.execution import Execution
from anabranch.http.response import Response
from anabranch.model.lakefile.parser import parse_lakefile
from anabranch.pipelines.images.assemble import ImageRequest
from anabranch.rest.protocol.body import Body
from anabranch.rest.protocol.call import Call
from anabranch.rest.protocol.decoding import BodyDecoder
from anabranch.rest.protocol.operation import Need, Operation, OtherResponse
from anabranch.rest.protocol.resources import on_anything, on_image
from anabranch.rest.protocol.responses import json_response
from anabranch.rest.schemas.images import (
    ImageBuild,
    ImageBuildStarted,
    ImageDescription,
    ImageList,
    ImagePreview,
    to_build,
    to_description,
    to_preview,
    to_summary,
)
from anabranch.rest.schemas.pagination import PageOf, page_amount, to_pagination

__all__ = ["OPERATIONS"]

_MAX_BODY_BYTES = 8 << 20
_WAIT_SECONDS = 10


class ImageCreation(Body, frozen=True, kw_only=True):
    """What to build: a Lakefile, and the values of its build arguments."""

    lakefile: str
    arguments: dict[str, str] = field(default_factory=dict)
    strict: bool = False
    allow_empty: bool = False


class AtImage(msgspec.Struct, frozen=True, kw_only=True):
    """Parameters of operations on an image."""

    tag: str


class ResolveImage(AtImage, frozen=True, kw_only=True):
    """Parameters of resolveImage."""

    strict: Annotated[bool, Meta(description="reject references that may move")] = False
    allow_empty: Annotated[bool, Meta(description="accept sources without objects")] = False


class BuildImage(ResolveImage, frozen=True, kw_only=True):
    """Parameters of buildImage."""

    wait: Annotated[
        int, Meta(ge=0, le=60, description="seconds to wait for the build before the response")
    ] = _WAIT_SECONDS


class AtBuild(AtImage, frozen=True, kw_only=True):
    """Parameters of imageBuildStatus."""

    id: Annotated[str, Meta(min_length=1, description="id of the build")]


class ListImages(PageOf, frozen=True, kw_only=True):
    """Parameters of listImages."""

    label: Annotated[list[str], Meta(description="only images with it: key=value")] = field(
        default_factory=list
    )


_decode_creation = BodyDecoder(ImageCreation)


def build_image(call: Call[BuildImage, None]) -> Response:
    """Builds an image: 201 with the image, or 202 with the id of the running build."""
    request = _to_image_request(call, call.params)
    started = call.services.builds.build(request, _actor(call), wait_seconds=call.params.wait)
    if started.image is None:
        return json_response(202, ImageBuildStarted(started.id, request.tag))
    return json_response(201, to_description(started.image))


def resolve_image(call: Call[ResolveImage, None]) -> ImagePreview:
    """Returns the content of the image without building it."""
    return to_preview(
        call.services.builds.resolve(_to_image_request(call, call.params), _actor(call))
    )


def build_status(call: Call[AtBuild, None]) -> ImageBuild:
    """Returns the status of a build."""
    return to_build(call.services.builds.status(call.params.tag, call.params.id))


def get_image(call: Call[AtImage, None]) -> ImageDescription:
    """Returns an image."""
    return to_description(call.services.catalog.images.get(call.params.tag))


def list_images(call: Call[ListImages, None]) -> ImageList:
    """Returns a page of the images that the caller may read."""
    params = call.params
    labels = {}
    for label in params.label:
        key, equals, value = label.partition("=")
        if not equals:
            raise Invalid(f"label {label!r}: not key=value", kind="invalid_parameter")
        labels[key] = value

    def visible(tag: str) -> bool:
        try:
            authorize(call.actor, [Permission(Action.READ_IMAGE, image_arn(tag))])
        except Denied:
            return False
        return True

    page = call.services.catalog.images.list(
        prefix=params.prefix,
        after=params.after,
        amount=page_amount(params.amount),
        labels=labels,
        visible=visible,
    )
    return ImageList(to_pagination(page), [to_summary(image) for image in page.items])


def delete_image(call: Call[AtImage, None]) -> None:
    """Deletes an image."""
    call.services.catalog.images.delete(call.params.tag)


def _to_image_request(call: Call[Any, None], params: ResolveImage) -> ImageRequest:
    """Returns the build that the body requests: a Lakefile as text, or JSON with options."""
    body = _read_body(call.request.content)
    media_type = call.request.header("content-type").partition(";")[0].strip().lower()
    text, arguments = body, {}
    strict, allow_empty = params.strict, params.allow_empty
    if media_type == "application/json":
        call.request.body = body
        creation = _decode_creation.decode(call.request)
        text, arguments = creation.lakefile.encode("utf-8", "surrogatepass"), creation.arguments
        strict, allow_empty = strict or creation.strict, allow_empty or creation.allow_empty
    lakefile = parse_lakefile(text, arguments)
    return ImageRequest(
        tag=params.tag,
        lakefile=lakefile,
        text=text.decode(),
        creator=call.committer,
        strict=strict,
        allow_empty=allow_empty,
    )


def _read_body(content: Iterable[bytes]) -> bytes:
    pieces = []
    size = 0
    for piece in content:
        size += len(piece)
        if size > _MAX_BODY_BYTES:
            raise Invalid(f"the body has more than {_MAX_BODY_BYTES} bytes", kind="body_too_large")
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
        execution=Execution.STREAMED,
        content=_CONTENT,
        status=201,
        response=ImageDescription,
        others=(OtherResponse(status=202, description="It is running", type=ImageBuildStarted),),
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
        execution=Execution.STREAMED,
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
