"""Objects, read: their bytes and their headers."""

from __future__ import annotations

from anabranch.access.permissions import Action
from anabranch.catalog.objects import OpenObject
from anabranch.errors import NotFound
from anabranch.model.entry import Entry
from anabranch.model.object_checksum import kept_checksum
from anabranch.s3.answer import Answer, header_safe
from anabranch.s3.call import Call
from anabranch.s3.errors import S3Error
from anabranch.s3.operation import Level, Need, Operation
from anabranch.s3.operations.conditions import Verdict, judge
from anabranch.s3.operations.numbered_parts import NumberedPart, numbered_part
from anabranch.s3.operations.object_checksums import checksum_headers, wants_checksum
from anabranch.s3.operations.object_headers import ByteRange, byte_range, object_headers
from anabranch.s3.operations.part_numbers import part_number
from anabranch.s3.operations.redirection import redirection
from anabranch.s3.operations.reference_folders import folder_of, is_folder
from anabranch.s3.operations.resources import on_object

__all__ = ["OPERATIONS"]

SMALL = 256 * 1024
"""Objects up to so many bytes are sent in one piece if they are in memory."""

_NOT_MODIFIED = 304

_OVERRIDES = {
    "response-cache-control": "Cache-Control",
    "response-content-disposition": "Content-Disposition",
    "response-content-encoding": "Content-Encoding",
    "response-content-language": "Content-Language",
    "response-expires": "Expires",
}


def get_object(call: Call) -> Answer:
    """Returns an object's bytes, or a part of them; or where to get them."""
    if is_folder(call.address):
        return head_object(call)
    found = _open(call)
    answer, part = _head(call, found.entry)
    start, length = (0, answer.length) if part is None else (part.start, part.length)
    if answer.status == _NOT_MODIFIED or not length:
        return answer
    elsewhere = redirection(call, found, answer)
    if elsewhere is not None:
        return elsewhere
    body = found.read_at_once(start, length) if length <= SMALL else None
    if body is None:
        answer.pieces = found.read(start, length)
    else:
        answer.body = body
    return answer


def head_object(call: Call) -> Answer:
    """Returns an object's headers."""
    if is_folder(call.address):
        return _head(call, folder_of(call))[0]
    found = _open(call)
    answer = _head(call, found.entry)[0]
    found.require_bytes()
    return answer


def _open(call: Call) -> OpenObject:
    address = call.address
    if not address.path:
        call.services.catalog.repositories.get(address.bucket)
        raise NotFound("not found", kind="object_not_found")
    return call.services.catalog.objects.open(address.bucket, address.ref, address.path)


def _head(call: Call, entry: Entry) -> tuple[Answer, ByteRange | None]:
    """Returns the answer without its body, and the part that is asked for, if it is one."""
    verdict = judge(call.request.headers, entry)
    if verdict is Verdict.FAILED:
        raise S3Error("PreconditionFailed")
    headers = object_headers(entry)
    if verdict is Verdict.NOT_MODIFIED:
        return Answer(_NOT_MODIFIED, headers=headers), None
    numbered = _numbered(call, entry) if "partNumber" in call.query else None
    part = _range(call, entry) if numbered is None else numbered.range
    length = entry.size if part is None else part.length
    if length and part is not None:
        headers.append(("Content-Range", part.content_range))
    if numbered is not None and numbered.parts_count:
        headers.append(("x-amz-mp-parts-count", str(numbered.parts_count)))
    if wants_checksum(call):
        whole = kept_checksum(entry) if part is None else None
        headers += checksum_headers(whole if numbered is None else numbered.checksum)
    for parameter, name in _OVERRIDES.items() if call.query else ():
        if parameter in call.query:
            headers = [pair for pair in headers if pair[0] != name]
            headers.append((name, header_safe(call.query[parameter])))
    content_type = call.query.get("response-content-type") or entry.content_type
    answer = Answer(
        200 if part is None else 206,
        content_type=header_safe(content_type),
        headers=headers,
        length=length,
    )
    return answer, part


def _range(call: Call, entry: Entry) -> ByteRange | None:
    wanted = call.header("range")
    return byte_range(wanted, entry.size) if wanted else None


def _numbered(call: Call, entry: Entry) -> NumberedPart:
    if call.header("range"):
        raise S3Error(
            "InvalidRequest", "Cannot specify both Range header and partNumber query parameter"
        )
    return numbered_part(part_number(call), entry)


OPERATIONS = (
    Operation(
        id="GetObject",
        method="GET",
        level=Level.OBJECT,
        permission=(Need(Action.READ_OBJECT, on_object),),
        quick=True,
        handler=get_object,
    ),
    Operation(
        id="HeadObject",
        method="HEAD",
        level=Level.OBJECT,
        permission=(Need(Action.READ_OBJECT, on_object),),
        quick=True,
        handler=head_object,
    ),
)
