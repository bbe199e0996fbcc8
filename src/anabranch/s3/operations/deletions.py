"""Objects, deleted: one, or up to 1,000 in one request, on condition if wanted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from anabranch.access.decide import decide
from anabranch.access.permissions import Action, Permission, object_arn
from anabranch.catalog.objects import MAX_DELETE
from anabranch.errors import AnabranchError, Invalid, NotFound
from anabranch.s3.addressing import Address
from anabranch.s3.answer import Answer
from anabranch.s3.call import Call
from anabranch.s3.errors import S3Error
from anabranch.s3.faults import error_element
from anabranch.s3.operation import BY_KEY, BodyKind, Level, Need, Operation
from anabranch.s3.operations.deletion_conditions import DeletionCondition, require_readable
from anabranch.s3.operations.resources import on_object
from anabranch.s3.xml_reader import Element
from anabranch.s3.xml_writer import document, element, leaf

__all__ = ["OPERATIONS"]

_NOTHING_THERE = frozenset({"reference_not_found", "invalid_reference"})
_UNCONDITIONAL = DeletionCondition()


class _Asked(NamedTuple):
    """A key of many, and on which condition it is to be deleted."""

    key: str
    condition: DeletionCondition


def delete_object(call: Call) -> Answer:
    """Deletes an object; that there is none is no error, unless a condition names it."""
    address = call.address
    condition = DeletionCondition.of_headers(call)
    if address.path:
        if condition != _UNCONDITIONAL:
            require_readable(call, address.path)
        refused = _delete(call, address.ref, {address.path: condition})
        if refused:
            raise refused[0][1]
    else:
        call.services.catalog.repositories.get(address.bucket)
        missing = condition.refusal(None)
        if missing is not None:
            raise missing
    return Answer(204)


def delete_objects(call: Call) -> Answer:
    """Deletes many objects; what cannot be deleted is told of key by key."""
    root = call.document("Delete")
    call.services.catalog.repositories.get(call.address.bucket)
    objects = list(root.all("Object"))
    if not 0 < len(objects) <= MAX_DELETE:
        raise S3Error("MalformedXML")
    quiet = _quiet(root)
    refused: dict[str, AnabranchError] = {}
    asked = [_asked(item, refused) for item in objects]
    by_ref: dict[str, dict[str, DeletionCondition]] = {}
    for item in asked:
        if item.key not in refused:
            _sort_in(call, item, by_ref, refused)
    for ref, paths in by_ref.items():
        refused |= {f"{ref}/{path}": error for path, error in _delete(call, ref, paths)}
    told = [
        error_element(key, refused[key]) if key in refused else element("Deleted", leaf("Key", key))
        for key, _ in asked
        if key in refused or not quiet
    ]
    error = next(iter(refused.values()), None)
    return Answer(200, document("DeleteResult", *told), error=error)


def _quiet(root: Element) -> bool:
    text = (root.text_of("Quiet") or "false").strip().lower()
    if text not in {"true", "false"}:
        raise S3Error("MalformedXML")
    return text == "true"


def _asked(item: Element, refused: dict[str, AnabranchError]) -> _Asked:
    key = item.text_of("Key")
    if not key:
        raise S3Error("MalformedXML")
    if item.text_of("VersionId") not in {None, "", "null"}:
        refused[key] = S3Error("NoSuchVersion")
    return _Asked(key, DeletionCondition.of_element(item))


def _sort_in(
    call: Call,
    item: _Asked,
    by_ref: dict[str, dict[str, DeletionCondition]],
    refused: dict[str, AnabranchError],
) -> None:
    address = Address.of(call.address.bucket, item.key)
    needed = Permission(Action.DELETE_OBJECT, object_arn(address.bucket, address.path))
    try:
        decide(call.actor, [needed])
        if item.condition != _UNCONDITIONAL:
            require_readable(call, address.path)
    except AnabranchError as error:
        refused[item.key] = error
        return
    if address.path:
        paths = by_ref.setdefault(address.ref, {})
        if paths.setdefault(address.path, item.condition) != item.condition:
            refused[item.key] = S3Error("InvalidRequest", "A key is given on two conditions")
            del paths[address.path]


def _delete(
    call: Call, ref: str, paths: Mapping[str, DeletionCondition]
) -> list[tuple[str, AnabranchError]]:
    """Deletes paths of a branch; returns those that could not be, and why. Where there is no such
    branch there is nothing to delete, but what a tag or a commit holds cannot be deleted.
    """
    objects, bucket = call.services.catalog.objects, call.address.bucket
    refusals = {
        path: condition.refusal for path, condition in paths.items() if condition != _UNCONDITIONAL
    }
    try:
        return objects.delete_many(bucket, ref, list(paths), refusals=refusals)
    except NotFound as error:
        if error.kind == "repository_not_found":
            raise
        if not _exists(call, ref):
            nothing = [(path, refusal(None)) for path, refusal in refusals.items()]
            return [(path, wrong) for path, wrong in nothing if wrong is not None]
        read_only = S3Error("MethodNotAllowed", f"{ref} is no branch, so it never changes")
        return [(path, read_only) for path in paths]
    except AnabranchError as error:
        return [(path, error) for path in paths]


def _exists(call: Call, ref: str) -> bool:
    try:
        call.services.catalog.objects.listing(call.address.bucket, ref, amount=1)
    except (NotFound, Invalid) as error:
        if error.kind in _NOTHING_THERE:
            return False
        raise
    return True


OPERATIONS = (
    Operation(
        id="DeleteObject",
        method="DELETE",
        level=Level.OBJECT,
        permission=(Need(Action.DELETE_OBJECT, on_object),),
        brief=True,
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
