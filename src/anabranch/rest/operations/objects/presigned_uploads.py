"""Multipart uploads to presigned URLs: create, get more URLs, complete, abort.

They are the multipart uploads of the S3 gateway; only the transfer of the bytes differs.
"""

from __future__ import annotations

from contextlib import suppress
from itertools import pairwise
from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, UnsetType, field

from anabranch.access.actors.authorize import authorize
from anabranch.access.policies.permissions import Action, Permission, object_arn
from anabranch.catalog.catalog import Catalog
from anabranch.catalog.objects.multipart_completion import WantedPart
from anabranch.errors import Invalid, NotFound, NotSupported
from anabranch.http.response import Response
from anabranch.model.objects.entry import Entry
from anabranch.model.uploads.part import MAX_PARTS
from anabranch.rest.protocol.body import Body
from anabranch.rest.protocol.call import Call
from anabranch.rest.protocol.object_headers import require_range
from anabranch.rest.protocol.operation import Need, Operation
from anabranch.rest.protocol.parameters import AtBranch, ObjectPath
from anabranch.rest.protocol.presigning import server_url
from anabranch.rest.protocol.resources import on_object
from anabranch.rest.schemas.object_stats import ObjectStats, object_stats

__all__ = ["OPERATIONS"]


class AtUploadPath(AtBranch, frozen=True, kw_only=True):
    """Parameters of all operations on these uploads."""

    path: ObjectPath


class Create(AtUploadPath, frozen=True, kw_only=True):
    """Parameters of createPresignMultipartUpload; `parts` is the number of URLs to return."""

    parts: Annotated[int, Meta(ge=0, le=MAX_PARTS)] = 0


class AtUpload(AtUploadPath, frozen=True, kw_only=True):
    """Parameters of operations on an upload."""

    upload_id: str = field(name="uploadId")


class AtPart(AtUpload, frozen=True, kw_only=True):
    """Parameters of operations on a part."""

    number: Annotated[int, Meta(ge=1, le=MAX_PARTS)] = field(name="partNumber")


class PresignMultipartUpload(msgspec.Struct, frozen=True):
    """A new upload."""

    upload_id: str
    physical_address: str
    presigned_urls: list[str] | UnsetType = UNSET


class UploadPart(Body, frozen=True):
    """A stored part."""

    part_number: Annotated[int, Meta(ge=1, le=MAX_PARTS)]
    etag: str


class CompletePresignMultipartUpload(Body, frozen=True):
    """Parts and metadata of the completed object."""

    physical_address: str
    parts: list[UploadPart]
    user_metadata: dict[str, str] = field(default_factory=dict)
    content_type: str = ""


class AbortPresignMultipartUpload(Body, frozen=True):
    """The address of the aborted upload."""

    physical_address: str


class UploadPartFrom(Body, frozen=True):
    """The address of the upload of a part."""

    physical_address: str = ""


class UploadTo(msgspec.Struct, frozen=True):
    """The URL to store a part at."""

    presigned_url: str


class CopyPartSource(Body, frozen=True):
    """The source of a copied part."""

    repository: str
    ref: str
    path: str
    range: str = ""


class UploadPartCopyFrom(Body, frozen=True):
    """A copied part."""

    copy_source: CopyPartSource
    physical_address: str = ""


def create(call: Call[Create, None]) -> PresignMultipartUpload:
    """Creates an upload."""
    params = call.params
    catalog = _require_multipart(call)
    server = server_url(call)
    upload = catalog.uploads.create(
        params.repository, params.branch, params.path, check_on_completion=True
    )
    urls = [
        catalog.presigning.store_part_url(upload.block, upload.id, number, server).url
        for number in range(1, params.parts + 1)
    ]
    return PresignMultipartUpload(
        upload.id, catalog.presigning.client_address(upload.block), urls if params.parts else UNSET
    )


def complete(call: Call[AtUpload, CompletePresignMultipartUpload]) -> ObjectStats:
    """Makes an object of an upload's parts."""
    params, body = call.params, call.body
    location = params.repository, params.branch, params.path
    catalog = _require_multipart(call)
    with suppress(NotFound):  # it may have been completed already: the response is then repeated
        _check_address(call, body.physical_address)
    parts = [WantedPart(part.part_number, part.etag.strip(' "'), {}) for part in body.parts]
    if any(one.number > two.number for one, two in pairwise(parts)):
        raise Invalid("parts must be in ascending order", kind="invalid_part_order")
    parts = list({part.number: part for part in parts}.values())  # the last part of each number
    catalog.completion.complete(
        *location,
        params.upload_id,
        parts,
        content_type=body.content_type,
        metadata=body.user_metadata,
    )
    return object_stats(catalog.objects.stat(*location))


def abort(call: Call[AtUpload, AbortPresignMultipartUpload]) -> None:
    """Aborts an upload and deletes its parts."""
    params = call.params
    catalog = _require_multipart(call)
    _check_address(call, call.body.physical_address)
    catalog.uploads.abort(params.repository, params.branch, params.path, params.upload_id)


def upload_part(call: Call[AtPart, UploadPartFrom]) -> UploadTo:
    """Returns the URL to store a part at."""
    params = call.params
    catalog = _require_multipart(call)
    upload = catalog.uploads.get(params.repository, params.branch, params.path, params.upload_id)
    url = catalog.presigning.store_part_url(
        upload.block, upload.id, params.number, server_url(call)
    )
    return UploadTo(url.url)


def copy_part(call: Call[AtPart, UploadPartCopyFrom]) -> Response:
    """Stores a part that is copied from another object."""
    params, source = call.params, call.body.copy_source
    catalog = _require_multipart(call)
    arn = object_arn(source.repository, source.path)
    permission = Permission(Action.READ_OBJECT, arn)
    images = catalog.images
    authorize(
        call.actor, [images.permission_for_reading(permission, source.repository, source.ref)]
    )

    def select(entry: Entry) -> tuple[int, int]:
        if not source.range:
            return 0, entry.size
        part = require_range(source.range, entry.size)
        return part.start, part.length

    part, _ = catalog.uploads.copy_part(
        params.repository,
        params.branch,
        params.path,
        params.upload_id,
        params.number,
        source_repository=source.repository,
        source_ref=source.ref,
        source_path=source.path,
        select=select,
    )
    return Response(204, headers=[("ETag", f'"{part.checksum}"')])


def _require_multipart(call: Call[Any, Any]) -> Catalog:
    """Returns the catalog. Raises NotFound for the repository, NotSupported if parts cannot be
    stored by presigned URLs.
    """
    catalog = call.services.catalog
    try:
        catalog.presigning.require_multipart()
    except NotSupported:
        catalog.repositories.get(call.params.repository)  # a missing one is reported first
        raise
    return catalog


def _check_address(
    call: Call[AtUpload, CompletePresignMultipartUpload]
    | Call[AtUpload, AbortPresignMultipartUpload],
    address: str,
) -> None:
    """Raises Invalid unless an upload has the address that the client sent."""
    params = call.params
    catalog = call.services.catalog
    upload = catalog.uploads.get(params.repository, params.branch, params.path, params.upload_id)
    if address != catalog.presigning.client_address(upload.block):
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
