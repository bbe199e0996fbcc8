"""PostObject: form uploads by web pages. A browser sends fields and a file, and then follows the
redirect that the form names.

A signed policy limits the form's fields (`payloads/post_policy.py`). The gateway checks the policy
and the permissions of its signer before it calls this handler.
"""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import quote, urlencode, urlsplit

from anabranch.access.policies.permissions import Action
from anabranch.http.etags import quote_etag
from anabranch.http.execution import BodyKind, Execution
from anabranch.http.header_values import header_safe
from anabranch.http.response import Response
from anabranch.model.objects.stat import Stat
from anabranch.s3.call import Call
from anabranch.s3.headers.location import object_location
from anabranch.s3.headers.object_checksums import checksum_headers
from anabranch.s3.headers.tag_sets import TAGGING, parse_tag_document, to_tag_text
from anabranch.s3.headers.user_metadata import parse_user_metadata
from anabranch.s3.operation import Level, Need, Operation
from anabranch.s3.operations.object_writes import require_path, store_object
from anabranch.s3.operations.resources import on_object
from anabranch.s3.payloads.checksums import PREFIX
from anabranch.s3.payloads.payload import Payload
from anabranch.s3.protocol.errors import S3Error
from anabranch.s3.protocol.xml_reader import read_xml
from anabranch.s3.protocol.xml_writer import document, leaf

__all__ = ["OPERATIONS"]

_BODY_FIELDS = (PREFIX, "content-md5", "x-amz-sdk-checksum-algorithm")
"""Prefixes of the fields that describe the bytes of the file."""

_CUSTOMER_KEY_PREFIX = "x-amz-server-side-encryption-customer-"
_REDIRECTS = ("success_action_redirect", "redirect")
_STATUSES = {"200": 200, "201": 201}
_CREATED, _NO_CONTENT, _SEE_OTHER = 201, 204, 303
_URL_CHARACTERS = "%/:?#[]@!$&'()*+,;=-._~"


def post_object(call: Call) -> Response:
    """Stores a form's file on a branch."""
    require_path(call)
    fields = call.fields
    if any(name.startswith(_CUSTOMER_KEY_PREFIX) for name in fields):
        raise S3Error("NotImplemented", "Encryption with customer-provided keys is not supported")
    headers = {_to_header_text(name): _to_header_text(value) for name, value in fields.items()}
    body_headers = {name: headers[name] for name in headers if name.startswith(_BODY_FIELDS)}
    payload = Payload(body_headers, call.content, defer_md5=True)
    stat = store_object(
        call,
        payload,
        content_type=header_safe(fields.get("content-type", "")),
        metadata=parse_user_metadata(headers) | _parse_tags(fields),
    )
    response_headers = [
        ("ETag", quote_etag(stat.entry.checksum)),
        ("Location", object_location(call)),
        *checksum_headers(payload.checksum),
    ]
    redirect = _redirect_url(call, stat)
    if redirect:
        return Response(
            _SEE_OTHER,
            headers=[*response_headers[:1], ("Location", redirect), *response_headers[2:]],
        )
    status = _STATUSES.get(fields.get("success_action_status", "").strip(), _NO_CONTENT)
    return Response(
        status, _document(call, stat) if status == _CREATED else b"", headers=response_headers
    )


def _parse_tags(fields: Mapping[str, str]) -> dict[str, str]:
    """Returns the metadata for the field `tagging`, an XML document. Raises S3Error."""
    text = fields.get("tagging", "")
    if not text.strip():
        return {}
    tags = to_tag_text(parse_tag_document(read_xml(text.strip().encode(), "Tagging")))
    return {TAGGING: tags} if tags else {}


def _redirect_url(call: Call, stat: Stat) -> str:
    """Returns the URL of the redirect, an empty string if no field names one or if the field is not
    an http or https URL.
    """
    url = next((call.fields[name] for name in _REDIRECTS if call.fields.get(name)), "").strip()
    try:
        parts = urlsplit(url)
    except ValueError:
        return ""
    if parts.scheme not in {"http", "https"} or not parts.netloc:
        return ""
    address = call.address
    parameters = urlencode(
        {"bucket": address.bucket, "key": address.key, "etag": quote_etag(stat.entry.checksum)}
    )
    query = f"{parts.query}&{parameters}" if parts.query else parameters
    return quote(parts._replace(query=query).geturl(), safe=_URL_CHARACTERS)


def _document(call: Call, stat: Stat) -> bytes:
    return document(
        "PostResponse",
        leaf("Location", object_location(call)),
        leaf("Bucket", call.address.bucket),
        leaf("Key", call.address.key),
        leaf("ETag", quote_etag(stat.entry.checksum)),
        namespace="",
    )


def _to_header_text(text: str) -> str:
    """Returns a text in the form of header values: one character for each byte of its UTF-8."""
    return text.encode().decode("latin-1")


OPERATIONS = (
    Operation(
        id="PostObject",
        method="POST",
        level=Level.BUCKET,
        permission=(Need(Action.WRITE_OBJECT, on_object),),
        body=BodyKind.STREAM,
        form=True,
        execution=Execution.BATCHED,
        handler=post_object,
    ),
)
