"""Buckets, which are repositories: listed, looked at, created where the settings allow it."""

from __future__ import annotations

from collections.abc import Mapping

from anabranch.access.permissions import Action
from anabranch.model.page import MAX_AMOUNT
from anabranch.model.repository import Repository
from anabranch.s3.answer import Answer
from anabranch.s3.call import Call
from anabranch.s3.errors import S3Error
from anabranch.s3.operation import BodyKind, Level, Need, Operation
from anabranch.s3.operations.resources import on_anything, on_bucket, on_namespace
from anabranch.s3.xml_reader import LARGEST
from anabranch.s3.xml_writer import document, element, leaf
from anabranch.signing.instants import iso_time

__all__ = ["OPERATIONS", "OWNER"]

_MAX_BUCKETS = 10_000
"""The most buckets of a page, and its default, as in S3."""

OWNER = element("Owner", leaf("ID", "anabranch"), leaf("DisplayName", "anabranch"))
"""S3 has every bucket and object belong to an account; here all belong to the installation."""


_PAGED = frozenset({"bucket-region", "continuation-token", "max-buckets", "prefix"})
"""Parameters of a request for buckets that make its answer a page."""


def list_buckets(call: Call) -> Answer:
    """Returns repositories whose names begin with `prefix`: a page of them if the request has any
    parameter of a page, else all. A page's continuation token is the name of its last bucket.
    """
    query = call.query
    most = None if _PAGED.isdisjoint(query) else _most_buckets(query)
    prefix = query.get("prefix", "")
    after, buckets, more = query.get("continuation-token", ""), list[Repository](), True
    if query.get("bucket-region", "") not in {"", call.services.region}:
        more = False  # all buckets are in the region of this server
    while more and (most is None or len(buckets) < most):
        amount = MAX_AMOUNT if most is None else min(MAX_AMOUNT, most - len(buckets))
        page = call.services.catalog.repositories.list(prefix=prefix, after=after, amount=amount)
        buckets += page.items
        after, more = page.next_offset, page.has_more
    return Answer(
        200,
        document(
            "ListAllMyBucketsResult",
            OWNER,
            element("Buckets", *map(_bucket, buckets)),
            leaf("ContinuationToken", buckets[-1].id) if more else "",
            leaf("Prefix", prefix) if prefix else "",
        ),
    )


def _bucket(repository: Repository) -> str:
    return element(
        "Bucket",
        leaf("Name", repository.id),
        leaf("CreationDate", iso_time(repository.creation_date)),
    )


def _most_buckets(query: Mapping[str, str]) -> int:
    """Returns how many buckets a page may have. Raises S3Error: InvalidArgument."""
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


def head_bucket(call: Call) -> Answer:
    """Tells whether a repository is there."""
    call.services.catalog.repositories.get(call.address.bucket)
    return Answer(200, headers=[("x-amz-bucket-region", call.services.region)])


def create_bucket(call: Call) -> Answer:
    """Creates a repository, if the settings name a prefix for its storage namespace."""
    call.payload().read(LARGEST)  # where the bucket shall lie is not the client's to say
    bucket, catalog = call.address.bucket, call.services.catalog
    if not call.services.namespace_prefix:
        if any(
            found.id == bucket for found in catalog.repositories.list(prefix=bucket, amount=1).items
        ):
            raise S3Error("BucketAlreadyExists")
        raise S3Error(
            "NotImplemented",
            "Repositories are created through the API; for the S3 door to do it, the setting "
            "blockstore.default_namespace_prefix must say where.",
        )
    catalog.repositories.create(bucket, call.services.namespace_prefix + bucket)
    return Answer(200, headers=[("Location", f"/{bucket}")])


def delete_bucket(call: Call) -> Answer:
    """Refuses: a repository has a history, which no client of S3 knows of."""
    call.services.catalog.repositories.get(call.address.bucket)
    raise S3Error("MethodNotAllowed", "Repositories are deleted through the API.")


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
        quick=True,
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
