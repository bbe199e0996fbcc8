"""DeleteObject and DeleteObjects: one object, or up to 1,000 in a request, with conditions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from anabranch.access.actors.authorize import authorize
from anabranch.access.policies.permissions import Action, Permission, object_arn
from anabranch.catalog.objects.objects import MAX_DELETE
from anabranch.errors import AnabranchError, Invalid, NotFound
from anabranch.http.execution import BodyKind, Execution
from anabranch.http.response import Response
from anabranch.model.tables.table_area import AREAS
from anabranch.s3.call import Call
from anabranch.s3.headers.deletion_conditions import DeletionCondition, require_readable
from anabranch.s3.operation import BY_KEY, Level, Need, Operation
from anabranch.s3.operations.resources import on_object
from anabranch.s3.operations.table_files.writes import keep_table_file
from anabranch.s3.protocol.addressing import Address
from anabranch.s3.protocol.error_responses import error_element
from anabranch.s3.protocol.errors import S3Error
from anabranch.s3.protocol.xml_reader import Element
from anabranch.s3.protocol.xml_writer import document, element, leaf

__all__ = ["OPERATIONS"]

_NO_REFERENCE = frozenset({"reference_not_found", "invalid_reference"})
_UNCONDITIONAL = DeletionCondition()


class _KeyDeletion(NamedTuple):
    """A key in DeleteObjects, and the condition of its deletion."""

    key: str
    condition: DeletionCondition


def delete_object(call: Call) -> Response:
    """Deletes an object. A missing object is an error only with a condition on the ETag."""
    address = call.address
    condition = DeletionCondition.from_headers(call)
    if address.path:
        if condition != _UNCONDITIONAL:
            require_readable(call, address.path)
        errors = _delete(call, address.ref, {address.path: condition})
        if errors:
            raise errors[0][1]
    else:
        call.services.catalog.repositories.get(address.bucket)
        missing = condition.error_for(None)
        if missing is not None:
            raise missing
    return Response(204)


def delete_objects(call: Call) -> Response:
    """Deletes many objects, and reports the errors by key."""
    root = call.document("Delete")
    call.services.catalog.repositories.get(call.address.bucket)
    items = list(root.all("Object"))
    if not 0 < len(items) <= MAX_DELETE:
        raise S3Error("MalformedXML")
    quiet = _parse_quiet(root)
    errors: dict[str, AnabranchError] = {}
    deletions = [_parse_deletion(item, errors) for item in items]
    by_ref: dict[str, dict[str, DeletionCondition]] = {}
    for item in deletions:
        if item.key not in errors:
            _group_by_reference(call, item, by_ref, errors)
    for ref, paths in by_ref.items():
        errors |= {f"{ref}/{path}": error for path, error in _delete(call, ref, paths)}
    elements = [
        error_element(key, errors[key]) if key in errors else element("Deleted", leaf("Key", key))
        for key, _ in deletions
        if key in errors or not quiet
    ]
    error = next(iter(errors.values()), None)
    return Response(200, document("DeleteResult", *elements), error=error)


def _parse_quiet(root: Element) -> bool:
    text = (root.child_text("Quiet") or "false").strip().lower()
    if text not in {"true", "false"}:
        raise S3Error("MalformedXML")
    return text == "true"


def _parse_deletion(item: Element, errors: dict[str, AnabranchError]) -> _KeyDeletion:
    key = item.child_text("Key")
    if not key:
        raise S3Error("MalformedXML")
    if item.child_text("VersionId") not in {None, "", "null"}:
        errors[key] = S3Error("NoSuchVersion")
    return _KeyDeletion(key, DeletionCondition.from_element(item))


def _group_by_reference(
    call: Call,
    deletion: _KeyDeletion,
    by_ref: dict[str, dict[str, DeletionCondition]],
    errors: dict[str, AnabranchError],
) -> None:
    address = Address.of(call.address.bucket, deletion.key)
    if address.ref == AREAS:
        try:
            keep_table_file(call, address)
        except AnabranchError as error:
            errors[deletion.key] = error
        return
    resource = object_arn(address.bucket, address.path)
    permission = Permission(Action.DELETE_OBJECT, resource, branch=address.ref)
    try:
        authorize(call.actor, [permission])
        if deletion.condition != _UNCONDITIONAL:
            require_readable(call, address.path)
    except AnabranchError as error:
        errors[deletion.key] = error
        return
    if address.path:
        paths = by_ref.setdefault(address.ref, {})
        if paths.setdefault(address.path, deletion.condition) != deletion.condition:
            errors[deletion.key] = S3Error(
                "InvalidRequest", "A key is listed twice with different conditions"
            )
            del paths[address.path]


def _delete(
    call: Call, ref: str, paths: Mapping[str, DeletionCondition]
) -> list[tuple[str, AnabranchError]]:
    """Deletes paths on a branch and returns the paths that could not be deleted with their errors.
    A missing reference has nothing to delete; objects of a tag or a commit cannot be deleted.
    """
    objects, bucket = call.services.catalog.objects, call.address.bucket
    refusals = {
        path: condition.error_for
        for path, condition in paths.items()
        if condition != _UNCONDITIONAL
    }
    try:
        return objects.delete_many(bucket, ref, list(paths), conditions=refusals)
    except NotFound as error:
        if error.kind == "repository_not_found":
            raise
        if not _reference_exists(call, ref):
            missing = [(path, error_for(None)) for path, error_for in refusals.items()]
            return [(path, failure) for path, failure in missing if failure is not None]
        read_only = S3Error("MethodNotAllowed", f"{ref} is not a branch and cannot be changed")
        return [(path, read_only) for path in paths]
    except AnabranchError as error:
        return [(path, error) for path in paths]


def _reference_exists(call: Call, ref: str) -> bool:
    try:
        call.services.catalog.objects.listing(call.address.bucket, ref, amount=1)
    except (NotFound, Invalid) as error:
        if error.kind in _NO_REFERENCE:
            return False
        raise
    return True


OPERATIONS = (
    Operation(
        id="DeleteObject",
        method="DELETE",
        level=Level.OBJECT,
        permission=(Need(Action.DELETE_OBJECT, on_object),),
        execution=Execution.BATCHED,
        handler=delete_object,
    ),
    Operation(
        id="DeleteObjects",
        method="POST",
        level=Level.BUCKET,
        on="delete",
        permission=BY_KEY,
        body=BodyKind.WHOLE,
        handler=delete_objects,
    ),
)
