"""Objects, written: upload, copy, delete, describe, and entries for what lies in the store."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated

import msgspec
from msgspec import UNSET, Meta, UnsetType, field

from anabranch.access.permissions import Action
from anabranch.errors import Denied, NotSupported
from anabranch.model.entry import DEFAULT_CONTENT_TYPE
from anabranch.rest.call import Call, Request
from anabranch.rest.conditions import ConditionalWrite
from anabranch.rest.errors import status_of
from anabranch.rest.multipart import content_part
from anabranch.rest.object_stats import ObjectStats, object_stats
from anabranch.rest.operation import Need, Operation
from anabranch.rest.parameters import AtBranch, ObjectPath, Seconds, Size
from anabranch.rest.resources import (
    on_copied_object,
    on_object,
    on_objects,
    on_staged_source,
)
from anabranch.signing.request import header_text

__all__ = ["OPERATIONS"]

_META_PREFIX = "x-lakefs-meta-"
_INTERNAL_PREFIX = "x-lakefs-internal-"
_INTERNAL_KEY = "::lakefs::"


class UploadObject(ConditionalWrite, frozen=True, kw_only=True):
    """Parameters of uploadObject."""

    storage_class: Annotated[str, Meta(description="no store of ours has any")] = field(
        default="", name="storageClass"
    )
    force: bool = False


class OnBranch(AtBranch, frozen=True, kw_only=True):
    """Parameters of what concerns one object on a branch."""

    path: ObjectPath


class DeleteObject(OnBranch, frozen=True, kw_only=True):
    """Parameters of deleteObject."""

    force: bool = False
    no_tombstone: bool = False


class DeleteObjects(AtBranch, frozen=True, kw_only=True):
    """Parameters of deleteObjects."""

    force: bool = False
    no_tombstone: bool = False


class CopyObject(AtBranch, frozen=True, kw_only=True):
    """Parameters of copyObject; `path` is the destination."""

    path: ObjectPath = field(name="dest_path")


class PathList(msgspec.Struct, frozen=True, kw_only=True):
    """Objects to delete."""

    paths: list[str]


class ObjectError(msgspec.Struct, frozen=True):
    """Why one of many objects was not deleted."""

    message: str
    path: str
    status_code: int


class ObjectErrorList(msgspec.Struct, frozen=True):
    """Which of many objects were not deleted."""

    errors: list[ObjectError]


class ObjectCopyCreation(msgspec.Struct, frozen=True, kw_only=True):
    """What to copy; without a reference, from the branch itself."""

    src_path: Annotated[str, Meta(description="path of the copied object")]
    src_ref: str = ""
    force: bool = False
    shallow: bool = False


class UpdateObjectUserMetadata(msgspec.Struct, frozen=True, kw_only=True):
    """The metadata to put in place of an object's."""

    set: dict[str, str]


class ObjectStageCreation(msgspec.Struct, frozen=True, kw_only=True):
    """An object that lies in the store already."""

    physical_address: str
    checksum: str
    size_bytes: Size
    mtime: Seconds | UnsetType = UNSET
    metadata: dict[str, str] = {}
    content_type: str = ""
    force: bool = False


def upload_object(call: Call[UploadObject, None]) -> ObjectStats:
    """Stores an object, from a form's first part named `content` or from the body itself."""
    asked = call.params
    content_type, chunks = _content(call.request)
    stat = call.services.catalog.objects.upload(
        asked.repository,
        asked.branch,
        asked.path,
        chunks,
        content_type=content_type or DEFAULT_CONTENT_TYPE,
        metadata=_user_metadata(call.request),
        if_absent=asked.if_absent,
        force=asked.force,
    )
    return object_stats(stat)


def delete_object(call: Call[DeleteObject, None]) -> None:
    """Deletes an object; one that is not there is passed over."""
    asked = call.params
    call.services.catalog.objects.delete(
        asked.repository, asked.branch, asked.path, force=asked.force
    )


def delete_objects(call: Call[DeleteObjects, PathList]) -> ObjectErrorList:
    """Deletes up to 1,000 objects at once; what nobody may delete is told of path by path."""
    asked, paths = call.params, call.body.paths
    try:
        refused = call.services.catalog.objects.delete_many(
            asked.repository, asked.branch, paths, force=asked.force
        )
    except Denied as error:
        refused = [(path, error) for path in paths]
    return ObjectErrorList(
        [
            ObjectError(message=error.message, path=path, status_code=status_of(error))
            for path, error in refused
        ]
    )


def copy_object(call: Call[CopyObject, ObjectCopyCreation]) -> ObjectStats:
    """Copies an object within its repository."""
    asked = call.body
    if asked.shallow:
        raise NotSupported("Not Implemented", kind="shallow_copy")
    stat = call.services.catalog.objects.copy(
        call.params.repository,
        call.params.branch,
        call.params.path,
        source_path=asked.src_path,
        source_ref=asked.src_ref,
        force=asked.force,
    )
    return object_stats(stat)


def update_user_metadata(call: Call[OnBranch, UpdateObjectUserMetadata]) -> None:
    """Replaces an object's user metadata."""
    asked = call.params
    call.services.catalog.objects.set_user_metadata(
        asked.repository, asked.branch, asked.path, call.body.set
    )


def upload_object_preflight(call: Call[OnBranch, None]) -> None:
    """Tells whether an object may be written there."""
    asked = call.params
    call.services.catalog.writes.writable(asked.repository, asked.branch, asked.path)


def stage_object(call: Call[OnBranch, ObjectStageCreation]) -> ObjectStats:
    """Makes an entry for an object that lies in the store already."""
    asked = call.body
    stat = call.services.catalog.staging.stage(
        call.params.repository,
        call.params.branch,
        call.params.path,
        address=asked.physical_address,
        checksum=asked.checksum,
        size=asked.size_bytes,
        mtime=None if asked.mtime is UNSET else asked.mtime,
        metadata=asked.metadata,
        content_type=asked.content_type,
        force=asked.force,
    )
    return object_stats(stat, user_metadata=False)  # as lakeFS answers


def _content(request: Request) -> tuple[str, Iterable[bytes]]:
    """Returns an upload's content type and its bytes."""
    content_type = request.header("content-type")
    if content_type.partition(";")[0].strip().lower() == "multipart/form-data":
        return content_part(content_type, request.content)
    return content_type, request.content


def _user_metadata(request: Request) -> dict[str, str]:
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
        brief=True,
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
        brief=True,
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
        brief=True,
        handler=stage_object,
    ),
)
