"""Bucket operations: list, head, create if the settings allow it. A bucket is a repository."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from anabranch.access.actors.visible_items import visible_items
from anabranch.access.policies.permissions import Action, Permission, repository_arn
from anabranch.http.execution import BodyKind, Execution
from anabranch.http.response import Response
from anabranch.model.page import MAX_AMOUNT
from anabranch.model.repositories.repository import Repository
from anabranch.s3.call import Call
from anabranch.s3.operation import Level, Need, Operation
from anabranch.s3.operations.resources import on_anything, on_bucket, on_namespace
from anabranch.s3.protocol.errors import S3Error
from anabranch.s3.protocol.xml_reader import MAX_DOCUMENT_BYTES
from anabranch.s3.protocol.xml_writer import document, element, leaf
from anabranch.signing.timestamps import iso_time

__all__ = ["OPERATIONS", "OWNER"]

_MAX_BUCKETS = 10_000
"""The maximum and default number of buckets of a page, as in S3."""

OWNER = element("Owner", leaf("ID", "anabranch"), leaf("DisplayName", "anabranch"))
"""The owner of every bucket and object: S3 requires an account, and there is only one."""

_PAGED = frozenset({"bucket-region", "continuation-token", "max-buckets", "prefix"})
"""Query parameters that make the response of ListBuckets a page."""


def list_buckets(call: Call) -> Response:
    """Returns the repositories that the user may list or read and whose names begin with `prefix`:
    one page if the request has a paging parameter, else all. The continuation token is the name of
    the page's last bucket.
    """
    query = call.query
    limit = None if _PAGED.isdisjoint(query) else _parse_max_buckets(query)
    prefix = query.get("prefix", "")
    after, buckets, has_more = query.get("continuation-token", ""), list[Repository](), True
    if query.get("bucket-region", "") not in {"", call.services.region}:
        has_more = False  # all buckets are in the region of this server
    while has_more and (limit is None or len(buckets) < limit):
        amount = MAX_AMOUNT if limit is None else min(MAX_AMOUNT, limit - len(buckets))
        page = visible_items(
            partial(call.services.catalog.repositories.list, prefix=prefix),
            call.actor,
            lambda repository: repository.id,
            lambda name: Permission(Action.LIST_REPOSITORIES, repository_arn(name)),
            after=after,
            amount=amount,
        )
        buckets += page.items
        after, has_more = page.next_offset, page.has_more
    return Response(
        200,
        document(
            "ListAllMyBucketsResult",
            OWNER,
            element("Buckets", *map(_bucket_element, buckets)),
            leaf("ContinuationToken", buckets[-1].id) if has_more else "",
            leaf("Prefix", prefix) if prefix else "",
        ),
    )


def _bucket_element(repository: Repository) -> str:
    return element(
        "Bucket",
        leaf("Name", repository.id),
        leaf("CreationDate", iso_time(repository.creation_date)),
    )


def _parse_max_buckets(query: Mapping[str, str]) -> int:
    """Returns the maximum number of buckets of a page. Raises S3Error: InvalidArgument."""
    text = query.get("max-buckets", "") or str(_MAX_BUCKETS)
    digits = text.isascii() and text.isdigit() and len(text) <= len(str(_MAX_BUCKETS))
    if not digits or not 1 <= int(text) <= _MAX_BUCKETS:
        raise S3Error(
            "InvalidArgument",
            f"max-buckets must be an integer between 1 and {_MAX_BUCKETS}, inclusive",
            ArgumentName="max-buckets",
            ArgumentValue=text,
        )
    return int(text)


def head_bucket(call: Call) -> Response:
    """Returns 200 if a repository exists. Raises NotFound."""
    call.services.catalog.repositories.get(call.address.bucket)
    return Response(200, headers=[("x-amz-bucket-region", call.services.region)])


def create_bucket(call: Call) -> Response:
    """Creates a repository if the settings have a prefix for its storage namespace."""
    call.payload().read(MAX_DOCUMENT_BYTES)  # the client's location constraint is ignored
    bucket, catalog = call.address.bucket, call.services.catalog
    if not call.services.namespace_prefix:
        page = catalog.repositories.list(prefix=bucket, amount=1)
        if any(repository.id == bucket for repository in page.items):
            raise S3Error("BucketAlreadyExists")
        raise S3Error(
            "NotImplemented",
            "Create repositories through the REST API, or set blockstore.default_namespace_prefix "
            "to create them through the S3 gateway.",
        )
    catalog.repositories.create(bucket, call.services.namespace_prefix + bucket)
    return Response(200, headers=[("Location", f"/{bucket}")])


def delete_bucket(call: Call) -> Response:
    """Raises S3Error: MethodNotAllowed, because S3 clients do not know that a repository has a
    history that would be lost.
    """
    call.services.catalog.repositories.get(call.address.bucket)
    raise S3Error("MethodNotAllowed", "Delete repositories through the REST API.")


OPERATIONS = (
    Operation(
        id="ListBuckets",
        method="GET",
        level=Level.SERVICE,
        permission=(Need(Action.LIST_REPOSITORIES, on_anything),),
        handler=list_buckets,
    ),
    Operation(
        id="HeadBucket",
        method="HEAD",
        level=Level.BUCKET,
        permission=(Need(Action.READ_REPOSITORY, on_bucket),),
        execution=Execution.INLINE,
        handler=head_bucket,
    ),
    Operation(
        id="CreateBucket",
        method="PUT",
        level=Level.BUCKET,
        permission=(
            Need(Action.CREATE_REPOSITORY, on_bucket),
            Need(Action.ATTACH_STORAGE_NAMESPACE, on_namespace),
        ),
        body=BodyKind.WHOLE,
        handler=create_bucket,
    ),
    Operation(
        id="DeleteBucket",
        method="DELETE",
        level=Level.BUCKET,
        permission=(Need(Action.DELETE_REPOSITORY, on_bucket),),
        handler=delete_bucket,
    ),
)
