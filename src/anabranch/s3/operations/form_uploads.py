"""Objects, uploaded by forms of web pages: a browser sends fields and a file, and goes where the
form says.

What a form may say stands in a policy that somebody signed (`payloads/post_policy.py`); that is
checked, and the permission of who signed it, before this is called.
"""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import quote, urlencode, urlsplit

from anabranch.access.permissions import Action
from anabranch.model.stat import Stat
from anabranch.s3.answer import Answer, header_safe
from anabranch.s3.call import Call
from anabranch.s3.errors import S3Error
from anabranch.s3.operation import BodyKind, Level, Need, Operation
from anabranch.s3.operations.location import location_of
from anabranch.s3.operations.object_checksums import checksum_headers
from anabranch.s3.operations.object_headers import etag_of
from anabranch.s3.operations.object_writes import require_path, store_object
from anabranch.s3.operations.resources import on_object
from anabranch.s3.operations.tag_sets import TAGGING, tag_text, tags_of_document
from anabranch.s3.operations.user_metadata import metadata_of
from anabranch.s3.payloads.checksums import PREFIX
from anabranch.s3.payloads.payload import Payload
from anabranch.s3.xml_reader import read_xml
from anabranch.s3.xml_writer import document, leaf

__all__ = ["OPERATIONS"]

_OF_THE_BODY = (PREFIX, "content-md5", "x-amz-sdk-checksum-algorithm")
"""How the names of fields begin that say something of the file's bytes."""

_KEY_OF_CLIENT = "x-amz-server-side-encryption-customer-"
_REDIRECTS = ("success_action_redirect", "redirect")
_STATUSES = {"200": 200, "201": 201}
_CREATED, _NO_CONTENT, _SEE_OTHER = 201, 204, 303
_URL_CHARACTERS = "%/:?#[]@!$&'()*+,;=-._~"


def post_object(call: Call) -> Answer:
    """Stores the file of a form on a branch."""
    require_path(call)
    fields = call.fields
    if any(name.startswith(_KEY_OF_CLIENT) for name in fields):
        raise S3Error("NotImplemented", "Encryption with keys of the client's is not done here")
    headers = {_latin(name): _latin(value) for name, value in fields.items()}
    about_body = {name: headers[name] for name in headers if name.startswith(_OF_THE_BODY)}
    payload = Payload(about_body, call.content, md5_elsewhere=True)
    stat = store_object(
        call,
        payload,
        content_type=header_safe(fields.get("content-type", "")),
        metadata=metadata_of(headers) | _tags(fields),
    )
    told = [
        ("ETag", etag_of(stat.entry)),
        ("Location", location_of(call)),
        *checksum_headers(payload.checksum),
    ]
    redirect = _redirect(call, stat)
    if redirect:
        return Answer(_SEE_OTHER, headers=[*told[:1], ("Location", redirect), *told[2:]])
    status = _STATUSES.get(fields.get("success_action_status", "").strip(), _NO_CONTENT)
    return Answer(status, _document(call, stat) if status == _CREATED else b"", headers=told)


def _tags(fields: Mapping[str, str]) -> dict[str, str]:
    """Returns the metadata that the field `tagging` gives, an XML document. Raises S3Error."""
    text = fields.get("tagging", "")
    if not text.strip():
        return {}
    tags = tag_text(tags_of_document(read_xml(text.strip().encode(), "Tagging")))
    return {TAGGING: tags} if tags else {}


def _redirect(call: Call, stat: Stat) -> str:
    """Returns where the browser is sent, the empty string for nowhere: without a field that says
    it, or for one that is no URL of a page.
    """
    url = next((call.fields[name] for name in _REDIRECTS if call.fields.get(name)), "").strip()
    try:
        parts = urlsplit(url)
    except ValueError:
        return ""
    if parts.scheme not in {"http", "https"} or not parts.netloc:
        return ""
    address = call.address
    told = urlencode({"bucket": address.bucket, "key": address.key, "etag": etag_of(stat.entry)})
    query = f"{parts.query}&{told}" if parts.query else told
    return quote(parts._replace(query=query).geturl(), safe=_URL_CHARACTERS)


def _document(call: Call, stat: Stat) -> bytes:
    return document(
        "PostResponse",
        leaf("Location", location_of(call)),
        leaf("Bucket", call.address.bucket),
        leaf("Key", call.address.key),
        leaf("ETag", etag_of(stat.entry)),
        namespace="",
    )


def _latin(text: str) -> str:
    """Returns a text as it would stand in a header: a character for each byte."""
    return text.encode().decode("latin-1")


OPERATIONS = (
    Operation(
        id="PostObject",
        method="POST",
        level=Level.BUCKET,
        permission=(Need(Action.WRITE_OBJECT, on_object),),
        body=BodyKind.STREAM,
        form=True,
        brief=True,
        handler=post_object,
    ),
)
