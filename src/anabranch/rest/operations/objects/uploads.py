"""Writes of objects: upload, copy, delete, user metadata, and staging of stored objects."""

from __future__ import annotations

from base64 import urlsafe_b64decode
from collections.abc import Iterable
from typing import Annotated

import msgspec
from msgspec import UNSET, Meta, UnsetType, field

from anabranch.access.policies.permissions import Action
from anabranch.errors import AnabranchError, Denied, Invalid
from anabranch.http.execution import Execution
from anabranch.model.objects.entry import DEFAULT_CONTENT_TYPE
from anabranch.rest.protocol.body import Body
from anabranch.rest.protocol.call import Call, Request
from anabranch.rest.protocol.conditional_writes import ConditionalWrite
from anabranch.rest.protocol.errors import status_for
from anabranch.rest.protocol.multipart import content_part
from anabranch.rest.protocol.operation import Need, Operation
from anabranch.rest.protocol.parameters import HEADER, AtBranch, ObjectPath, Seconds, Size
from anabranch.rest.protocol.resources import (
    on_copied_object,
    on_object,
    on_objects,
    on_staged_source,
)
from anabranch.rest.schemas.object_stats import ObjectStats, object_stats
from anabranch.signing.request import header_text

__all__ = ["OPERATIONS"]

_META_PREFIX = "x-lakefs-meta-"
_INTERNAL_PREFIX = "x-lakefs-internal-"
_INTERNAL_KEY = "::lakefs::"
_METADATA_DECODER = msgspec.json.Decoder(dict[str, str])


_Metadata = Annotated[
    str,
    HEADER,
    Meta(description="the metadata as a JSON object in base64url, instead of other headers"),
]


class UploadObject(ConditionalWrite, frozen=True, kw_only=True):
    """Parameters of uploadObject."""

    metadata: _Metadata = field(default="", name="X-Anabranch-Metadata")
    storage_class: Annotated[
        str, Meta(description="S3's name of a class; other stores ignore it")
    ] = field(default="", name="storageClass")
    force: bool = False


class OnBranch(AtBranch, frozen=True, kw_only=True):
    """Parameters of writes of one object."""

    path: ObjectPath


class DeleteObject(OnBranch, frozen=True, kw_only=True):
    """Parameters of deleteObject."""

    force: bool = False
    no_tombstone: bool = False


class DeleteObjects(AtBranch, frozen=True, kw_only=True):
    """Parameters of deleteObjects."""

    force: bool = False
    no_tombstone: bool = False
    include_kinds: Annotated[
        bool, Meta(description="add the class, the kind and the hint of each error")
    ] = False


class CopyObject(ConditionalWrite, frozen=True, kw_only=True):
    """Parameters of copyObject; `path` is the destination."""

    path: ObjectPath = field(name="dest_path")


class PathList(Body, frozen=True, kw_only=True):
    """Objects to delete."""

    paths: list[str]


class ObjectError(msgspec.Struct, frozen=True):
    """The reason why an object was not deleted."""

    message: str
    path: str
    status_code: int
    error: Annotated[str, Meta(description="the class of the error")] | UnsetType = UNSET
    kind: str | UnsetType = UNSET
    hint: str | UnsetType = UNSET


class ObjectErrorList(msgspec.Struct, frozen=True):
    """The objects that were not deleted."""

    errors: list[ObjectError]


class ObjectCopyCreation(Body, frozen=True, kw_only=True):
    """The source of a copy; without a reference, the branch itself."""

    src_path: Annotated[str, Meta(description="path of the copied object")]
    src_ref: str = ""
    src_repository: Annotated[str, Meta(description="by default that of the copy")] = ""
    force: bool = False
    shallow: Annotated[bool, Meta(description="refer to the bytes of the source")] = False


class UpdateObjectUserMetadata(Body, frozen=True, kw_only=True):
    """The new user metadata of an object."""

    set: dict[str, str]
    force: bool = False


class ObjectStageCreation(Body, frozen=True, kw_only=True):
    """An object that is already in the store."""

    physical_address: str
    checksum: str
    size_bytes: Size
    mtime: Seconds | UnsetType = UNSET
    metadata: dict[str, str] = field(default_factory=dict)
    content_type: str = ""
    force: bool = False


def upload_object(call: Call[UploadObject, None]) -> ObjectStats:
    """Stores an object, from a form's first part named `content` or from the body itself."""
    params = call.params
    content_type, chunks = _content(call.request)
    stat = call.services.catalog.objects.upload(
        params.repository,
        params.branch,
        params.path,
        chunks,
        content_type=content_type or DEFAULT_CONTENT_TYPE,
        metadata=_user_metadata(call.request, params.metadata),
        if_absent=params.if_absent,
        storage_class=params.storage_class,
        force=params.force,
    )
    return object_stats(stat)


def delete_object(call: Call[DeleteObject, None]) -> None:
    """Deletes an object, if it exists."""
    params = call.params
    call.services.catalog.objects.delete(
        params.repository, params.branch, params.path, force=params.force
    )


def delete_objects(call: Call[DeleteObjects, PathList]) -> ObjectErrorList:
    """Deletes up to 1,000 objects at once; returns an error for each path that was not deleted."""
    params, paths = call.params, call.body.paths
    try:
        errors = call.services.catalog.objects.delete_many(
            params.repository, params.branch, paths, force=params.force
        )
    except Denied as error:
        errors = [(path, error) for path in paths]
    return ObjectErrorList(
        [_object_error(path, error, include_kind=params.include_kinds) for path, error in errors]
    )


def _object_error(path: str, error: AnabranchError, *, include_kind: bool) -> ObjectError:
    return ObjectError(
        message=error.message,
        path=path,
        status_code=status_for(error),
        error=type(error).__name__ if include_kind else UNSET,
        kind=error.kind if include_kind else UNSET,
        hint=error.hint if include_kind else UNSET,
    )


def copy_object(call: Call[CopyObject, ObjectCopyCreation]) -> ObjectStats:
    """Copies an object, by default within its repository."""
    body = call.body
    stat = call.services.catalog.objects.copy(
        call.params.repository,
        call.params.branch,
        call.params.path,
        source_path=body.src_path,
        source_ref=body.src_ref,
        source_repository=body.src_repository,
        if_absent=call.params.if_absent,
        force=body.force,
        shallow=body.shallow,
    )
    return object_stats(stat)


def update_user_metadata(call: Call[OnBranch, UpdateObjectUserMetadata]) -> None:
    """Replaces an object's user metadata."""
    params = call.params
    call.services.catalog.objects.set_user_metadata(
        *(params.repository, params.branch, params.path, call.body.set), force=call.body.force
    )


def upload_object_preflight(call: Call[OnBranch, None]) -> None:
    """Checks whether an object may be written to a path."""
    params = call.params
    call.services.catalog.writes.require_writable(params.repository, params.branch, params.path)


def stage_object(call: Call[OnBranch, ObjectStageCreation]) -> ObjectStats:
    """Stages an entry for an object that is already in the store."""
    body = call.body
    stat = call.services.catalog.staging.stage(
        call.params.repository,
        call.params.branch,
        call.params.path,
        address=body.physical_address,
        checksum=body.checksum,
        size=body.size_bytes,
        mtime=None if body.mtime is UNSET else body.mtime,
        metadata=body.metadata,
        content_type=body.content_type,
        force=body.force,
    )
    return object_stats(stat, user_metadata=False)  # as lakeFS answers


def _content(request: Request) -> tuple[str, Iterable[bytes]]:
    """Returns an upload's content type and its bytes."""
    content_type = request.header("content-type")
    if content_type.partition(";")[0].strip().lower() == "multipart/form-data":
        return content_part(content_type, request.content)
    return content_type, request.content


def _user_metadata(request: Request, encoded: str) -> dict[str, str]:
    """Returns the metadata in the headers of a request; `encoded` may have any text as keys, which
    headers cannot. Raises Invalid.
    """
    if encoded:
        try:
            return _METADATA_DECODER.decode(urlsafe_b64decode(encoded))
        except ValueError as error:
            raise Invalid(
                f"X-Anabranch-Metadata: {error}",
                kind="invalid_parameter",
                hint="Send a JSON object of strings in base64url.",
            ) from error
    metadata = {}
    for name, value in request.headers.items():
        if name.startswith(_META_PREFIX):
            key = header_text(name[len(_META_PREFIX) :])
        elif name.startswith(_INTERNAL_PREFIX):
            key = _INTERNAL_KEY + header_text(name[len(_INTERNAL_PREFIX) :])
        else:
            continue
        metadata[key] = header_text(value)
    return metadata


_OBJECTS = "/repositories/{repository}/branches/{branch}/objects"

OPERATIONS = (
    Operation(
        id="uploadObject",
        tag="objects",
        method="POST",
        path=_OBJECTS,
        summary="upload an object",
        permission=(Need(Action.WRITE_OBJECT, on_object),),
        params=UploadObject,
        stream=True,
        status=201,
        response=ObjectStats,
        execution=Execution.BATCHED,
        handler=upload_object,
    ),
    Operation(
        id="deleteObject",
        tag="objects",
        method="DELETE",
        path=_OBJECTS,
        summary="delete object. Missing objects will not return a NotFound error",
        permission=(Need(Action.DELETE_OBJECT, on_object),),
        params=DeleteObject,
        status=204,
        execution=Execution.BATCHED,
        handler=delete_object,
    ),
    Operation(
        id="deleteObjects",
        tag="objects",
        method="POST",
        path=_OBJECTS + "/delete",
        summary="delete objects. Missing objects will not return a NotFound error",
        permission=(Need(Action.DELETE_OBJECT, on_objects),),
        params=DeleteObjects,
        body=PathList,
        response=ObjectErrorList,
        handler=delete_objects,
    ),
    Operation(
        id="copyObject",
        tag="objects",
        method="POST",
        path=_OBJECTS + "/copy",
        summary="create a copy of an object",
        permission=(
            Need(Action.READ_OBJECT, on_copied_object),
            Need(Action.WRITE_OBJECT, on_object),
        ),
        params=CopyObject,
        body=ObjectCopyCreation,
        status=201,
        response=ObjectStats,
        handler=copy_object,
    ),
    Operation(
        id="updateObjectUserMetadata",
        tag="experimental",
        method="PUT",
        path=_OBJECTS + "/stat/user_metadata",
        summary="rewrite all object user metadata",
        permission=(Need(Action.WRITE_OBJECT, on_object),),
        params=OnBranch,
        body=UpdateObjectUserMetadata,
        status=204,
        handler=update_user_metadata,
    ),
    Operation(
        id="uploadObjectPreflight",
        tag="internal",
        method="GET",
        path=_OBJECTS + "/stage_allowed",
        summary="check whether an object may be uploaded",
        permission=(Need(Action.WRITE_OBJECT, on_object),),
        params=OnBranch,
        status=204,
        handler=upload_object_preflight,
    ),
    Operation(
        id="stageObject",
        tag="internal",
        method="PUT",
        path=_OBJECTS,
        summary="stage an object's metadata for the given branch",
        permission=(
            Need(Action.WRITE_OBJECT, on_object),
            Need(Action.IMPORT_FROM_STORAGE, on_staged_source),
        ),
        params=OnBranch,
        body=ObjectStageCreation,
        status=201,
        response=ObjectStats,
        execution=Execution.BATCHED,
        handler=stage_object,
    ),
)
