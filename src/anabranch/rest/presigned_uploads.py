"""Uploads in parts whose parts go to presigned URLs: begun, given more URLs, completed, aborted.

They are the uploads that S3's clients make, and end as those do; only the way of the bytes differs.
"""

from __future__ import annotations

from contextlib import suppress
from itertools import pairwise
from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, UnsetType, field

from anabranch.access.decide import decide
from anabranch.access.permissions import Action, Permission, object_arn
from anabranch.catalog.catalog import Catalog
from anabranch.catalog.completion import WantedPart
from anabranch.errors import Invalid, NotFound, NotSupported
from anabranch.model.entry import Entry
from anabranch.model.part import MAX_PARTS
from anabranch.rest.answer import Answer
from anabranch.rest.call import Call
from anabranch.rest.object_headers import byte_range
from anabranch.rest.object_stats import ObjectStats, object_stats
from anabranch.rest.operation import Need, Operation
from anabranch.rest.parameters import AtBranch, ObjectPath
from anabranch.rest.presigning import server_of
from anabranch.rest.resources import on_object

__all__ = ["OPERATIONS"]


class AtUploadPath(AtBranch, frozen=True, kw_only=True):
    """Parameters of all of them."""

    path: ObjectPath


class Create(AtUploadPath, frozen=True, kw_only=True):
    """Parameters of createPresignMultipartUpload; so many `parts` are given URLs at once."""

    parts: Annotated[int, Meta(ge=0, le=MAX_PARTS)] = 0


class AtUpload(AtUploadPath, frozen=True, kw_only=True):
    """Parameters of what concerns an upload."""

    upload_id: str = field(name="uploadId")


class AtPart(AtUpload, frozen=True, kw_only=True):
    """Parameters of what concerns a part."""

    number: Annotated[int, Meta(ge=1, le=MAX_PARTS)] = field(name="partNumber")


class PresignMultipartUpload(msgspec.Struct, frozen=True):
    """An upload that has begun."""

    upload_id: str
    physical_address: str
    presigned_urls: list[str] | UnsetType = UNSET


class UploadPart(msgspec.Struct, frozen=True):
    """A part that was stored."""

    part_number: Annotated[int, Meta(ge=1, le=MAX_PARTS)]
    etag: str


class CompletePresignMultipartUpload(msgspec.Struct, frozen=True):
    """What an upload shall be completed with."""

    physical_address: str
    parts: list[UploadPart]
    user_metadata: dict[str, str] = {}
    content_type: str = ""


class AbortPresignMultipartUpload(msgspec.Struct, frozen=True):
    """Which upload is aborted, by its address, too."""

    physical_address: str


class UploadPartFrom(msgspec.Struct, frozen=True):
    """Which upload a part is for, by its address, too."""

    physical_address: str = ""


class UploadTo(msgspec.Struct, frozen=True):
    """Where to store a part."""

    presigned_url: str


class CopyPartSource(msgspec.Struct, frozen=True):
    """What a part is copied from."""

    repository: str
    ref: str
    path: str
    range: str = ""


class UploadPartCopyFrom(msgspec.Struct, frozen=True):
    """A part that is copied."""

    copy_source: CopyPartSource
    physical_address: str = ""


def create(call: Call[Create, None]) -> PresignMultipartUpload:
    """Begins an upload."""
    asked = call.params
    catalog = _supported(call)
    server = server_of(call)
    upload = catalog.uploads.create(asked.repository, asked.branch, asked.path, refuse_late=True)
    urls = [
        catalog.presigning.store_part(upload.block, upload.id, number, server).url
        for number in range(1, asked.parts + 1)
    ]
    return PresignMultipartUpload(
        upload.id, catalog.presigning.shown(upload.block), urls if asked.parts else UNSET
    )


def complete(call: Call[AtUpload, CompletePresignMultipartUpload]) -> ObjectStats:
    """Makes an object of an upload's parts."""
    asked, body = call.params, call.body
    place = asked.repository, asked.branch, asked.path
    catalog = _supported(call)
    with suppress(NotFound):  # it may have been completed before: then the same is told again
        _check_address(call, body.physical_address)
    wanted = [WantedPart(part.part_number, part.etag.strip(' "'), {}) for part in body.parts]
    if any(one.number > two.number for one, two in pairwise(wanted)):
        raise Invalid("parts must be in ascending order", kind="invalid_part_order")
    wanted = list({part.number: part for part in wanted}.values())  # the last of each number
    catalog.completion.complete(
        *place,
        asked.upload_id,
        wanted,
        content_type=body.content_type,
        metadata=body.user_metadata,
    )
    return object_stats(catalog.objects.stat(*place))


def abort(call: Call[AtUpload, AbortPresignMultipartUpload]) -> None:
    """Ends an upload, of which nothing stays."""
    asked = call.params
    catalog = _supported(call)
    _check_address(call, call.body.physical_address)
    catalog.uploads.abort(asked.repository, asked.branch, asked.path, asked.upload_id)


def upload_part(call: Call[AtPart, UploadPartFrom]) -> UploadTo:
    """Returns where to store a part."""
    asked = call.params
    catalog = _supported(call)
    upload = catalog.uploads.get(asked.repository, asked.branch, asked.path, asked.upload_id)
    url = catalog.presigning.store_part(upload.block, upload.id, asked.number, server_of(call))
    return UploadTo(url.url)


def copy_part(call: Call[AtPart, UploadPartCopyFrom]) -> Answer:
    """Stores a part that is copied out of another object."""
    asked, source = call.params, call.body.copy_source
    catalog = _supported(call)
    named = object_arn(source.repository, source.path)
    permission = Permission(Action.READ_OBJECT, named)
    images = catalog.images
    decide(call.actor, [images.readable(permission, source.repository, source.ref)])

    def select(entry: Entry) -> tuple[int, int]:
        if not source.range:
            return 0, entry.size
        part = byte_range(source.range, entry.size)
        return part.start, part.length

    part, _ = catalog.uploads.copy_part(
        asked.repository,
        asked.branch,
        asked.path,
        asked.upload_id,
        asked.number,
        source_repository=source.repository,
        source_ref=source.ref,
        source_path=source.path,
        select=select,
    )
    return Answer(204, headers=[("ETag", f'"{part.checksum}"')])


def _supported(call: Call[Any, Any]) -> Catalog:
    """Returns the catalog. Raises NotFound for the repository, NotSupported if parts cannot go to
    presigned URLs.
    """
    catalog = call.services.catalog
    try:
        catalog.presigning.require_parts()
    except NotSupported:
        catalog.repositories.get(call.params.repository)  # a missing one is reported first
        raise
    return catalog


def _check_address(
    call: Call[AtUpload, CompletePresignMultipartUpload]
    | Call[AtUpload, AbortPresignMultipartUpload],
    address: str,
) -> None:
    """Raises Invalid if an upload has another address than the client thinks."""
    asked = call.params
    catalog = call.services.catalog
    upload = catalog.uploads.get(asked.repository, asked.branch, asked.path, asked.upload_id)
    if address != catalog.presigning.shown(upload.block):
        raise Invalid("physical_address is not this upload's", kind="physical_address_wrong")


_UPLOADS = "/repositories/{repository}/branches/{branch}/staging/pmpu"
_WRITES = (Need(Action.WRITE_OBJECT, on_object),)

OPERATIONS = (
    Operation(
        id="createPresignMultipartUpload",
        tag="experimental",
        method="POST",
        path=_UPLOADS,
        summary="initiate a multipart upload",
        permission=_WRITES,
        params=Create,
        status=201,
        response=PresignMultipartUpload,
        handler=create,
    ),
    Operation(
        id="completePresignMultipartUpload",
        tag="experimental",
        method="PUT",
        path=_UPLOADS + "/{uploadId}",
        summary="complete a presigned multipart upload",
        permission=_WRITES,
        params=AtUpload,
        body=CompletePresignMultipartUpload,
        response=ObjectStats,
        handler=complete,
    ),
    Operation(
        id="abortPresignMultipartUpload",
        tag="experimental",
        method="DELETE",
        path=_UPLOADS + "/{uploadId}",
        summary="abort a presigned multipart upload",
        permission=_WRITES,
        params=AtUpload,
        body=AbortPresignMultipartUpload,
        status=204,
        handler=abort,
    ),
    Operation(
        id="uploadPart",
        tag="experimental",
        method="PUT",
        path=_UPLOADS + "/{uploadId}/parts/{partNumber}",
        summary="request a presigned URL to upload a part",
        permission=_WRITES,
        params=AtPart,
        body=UploadPartFrom,
        response=UploadTo,
        handler=upload_part,
    ),
    Operation(
        id="uploadPartCopy",
        tag="experimental",
        method="PUT",
        path=_UPLOADS + "/{uploadId}/parts/{partNumber}/copy",
        summary="upload a part by copying from an existing object",
        permission=_WRITES,
        params=AtPart,
        body=UploadPartCopyFrom,
        status=204,
        handler=copy_part,
    ),
)
