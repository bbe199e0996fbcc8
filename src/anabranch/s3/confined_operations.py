"""The operations of S3 that the keys of a workspace may perform, and the references of each.

All that is not listed is refused; see `rest/protocol/confined_operations.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from types import MappingProxyType

from anabranch.access.actors.actor import Actor
from anabranch.access.actors.confined_actor import ConfinedActor
from anabranch.access.actors.table_actor import TableActor
from anabranch.errors import AnabranchError
from anabranch.s3.call import Call
from anabranch.s3.headers.copy_source import copy_source
from anabranch.s3.operation import Level, Operation
from anabranch.s3.operations.table_files.addresses import TABLE_FILE_OPERATIONS, area_id

__all__ = ["CONFINED_OPERATIONS", "admit", "note_reads"]


def admit(operation: Operation, call: Call, actor: Actor) -> Actor:
    """Returns the actor of a call. That of a workspace's keys is admitted if the operation is
    within their reach; raises Denied if it is not.
    """
    if isinstance(actor, TableActor):
        return _admit_to_table(operation, call, actor)
    if not isinstance(actor, ConfinedActor):
        return actor
    references = CONFINED_OPERATIONS.get(operation.id)
    if references is None:
        raise actor.refusal(operation.id)
    confinement = actor.confinement
    if operation.level is Level.BUCKET and call.address.bucket != confinement.repository:
        raise actor.refusal(call.address.bucket)
    named = list(references(call))
    if operation.level is Level.OBJECT:
        named.append((call.address.bucket, call.address.ref))
    admitted = actor.admit("", ())
    for repository, reference in named:
        admitted = actor.admit(repository, [reference])
    return admitted


def _admit_to_table(operation: Operation, call: Call, actor: TableActor) -> Actor:
    """Returns the actor of a table's keys for an operation on files of its area. Raises Denied for
    all others; keys of DeleteObjects are admitted one by one.
    """
    if operation.id == "DeleteObjects":
        return actor
    if operation.id not in TABLE_FILE_OPERATIONS:
        raise actor.refusal()
    return actor.admit(call.address.bucket, area_id(call))


def _nothing(_: Call) -> Iterable[tuple[str, str]]:
    return ()


def _listed(call: Call) -> Iterable[tuple[str, str]]:
    """The reference of a prefix; without one, branches are listed, each by its permission."""
    reference, slash, _ = call.query.get("prefix", "").partition("/")
    if slash:
        yield call.address.bucket, reference


def _form(call: Call) -> Iterable[tuple[str, str]]:
    yield call.address.bucket, call.address.ref


def _copied(call: Call) -> Iterable[tuple[str, str]]:
    source = copy_source(call)
    yield source.bucket, source.ref


CONFINED_OPERATIONS: MappingProxyType[str, Callable[[Call], Iterable[tuple[str, str]]]] = (
    MappingProxyType(
        {
            "ListBuckets": _nothing,
            "HeadBucket": _nothing,
            "GetBucket location": _nothing,
            "GetBucket versioning": _nothing,
            "ListObjects": _listed,
            "ListObjectsV2": _listed,
            "ListObjectVersions": _listed,
            "GetObject": _nothing,
            "HeadObject": _nothing,
            "GetObjectAttributes": _nothing,
            "GetObjectTagging": _nothing,
            "PutObject": _nothing,
            "PostObject": _form,
            "CopyObject": _copied,
            "DeleteObject": _nothing,
            "DeleteObjects": _nothing,
            "PutObjectTagging": _nothing,
            "DeleteObjectTagging": _nothing,
            "CreateMultipartUpload": _nothing,
            "AbortMultipartUpload": _nothing,
            "UploadPart": _nothing,
            "UploadPartCopy": _copied,
            "ListParts": _nothing,
            "CompleteMultipartUpload": _nothing,
        }
    )
)
"""By the id of each operation, what names the references that a call reads, besides the one of the
object that it is about.
"""

_READS = frozenset({"GetObject", "CopyObject", "UploadPartCopy"})


def note_reads(operation: Operation, call: Call) -> None:
    """Records what a call by the keys of a workspace has read."""
    actor = call.actor
    if operation.id not in _READS or not isinstance(actor, ConfinedActor):
        return
    address = call.address if operation.id == "GetObject" else copy_source(call)
    reach = actor.confinement
    with suppress(AnabranchError):  # the read itself has succeeded
        call.services.catalog.workspaces.reads.note(
            *(reach.repository, reach.branch, address.ref, [address.path], reach.access_key_id)
        )
