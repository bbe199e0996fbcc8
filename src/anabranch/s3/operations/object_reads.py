"""GetObject and HeadObject: the bytes and the headers of an object."""

from __future__ import annotations

from anabranch.access.policies.permissions import Action
from anabranch.catalog.objects.open_object import OpenObject
from anabranch.errors import NotFound
from anabranch.http.execution import Execution
from anabranch.http.header_values import header_safe
from anabranch.http.ranges import ByteRange, parse_range
from anabranch.http.response import Response
from anabranch.model.objects.entry import Entry
from anabranch.model.uploads.object_checksum import stored_checksum
from anabranch.s3.call import Call
from anabranch.s3.headers.conditions import ConditionResult, evaluate_conditions
from anabranch.s3.headers.object_checksums import checksum_headers, wants_checksum
from anabranch.s3.headers.object_headers import object_headers
from anabranch.s3.operation import Level, Need, Operation
from anabranch.s3.operations.directory_markers import is_folder, stat_folder
from anabranch.s3.operations.numbered_parts import NumberedPart, numbered_part
from anabranch.s3.operations.parameters import parse_part_number
from anabranch.s3.operations.redirection import build_redirect
from anabranch.s3.operations.resources import on_object
from anabranch.s3.protocol.errors import S3Error

__all__ = ["OPERATIONS", "build_head"]

MAX_SINGLE_PIECE_BYTES = 256 * 1024
"""The maximum size, in bytes, of a read that is sent in one piece if it is in memory."""

_NOT_MODIFIED = 304

_HEADER_OVERRIDES = {
    "response-cache-control": "Cache-Control",
    "response-content-disposition": "Content-Disposition",
    "response-content-encoding": "Content-Encoding",
    "response-content-language": "Content-Language",
    "response-expires": "Expires",
}


def get_object(call: Call) -> Response:
    """Returns the bytes of an object or a range of them, or a redirect to the object store."""
    if is_folder(call.address):
        return head_object(call)
    opened = _open(call)
    answer, part = build_head(call, opened.entry)
    start, length = (0, answer.length) if part is None else (part.start, part.length)
    if answer.status == _NOT_MODIFIED or not length:
        return answer
    redirect = build_redirect(call, opened, answer)
    if redirect is not None:
        return redirect
    body = opened.read_if_cached(start, length) if length <= MAX_SINGLE_PIECE_BYTES else None
    if body is None:
        answer.pieces = opened.chunks(start, length)
    else:
        answer.body = body
    return answer


def head_object(call: Call) -> Response:
    """Returns the headers of an object."""
    if is_folder(call.address):
        return build_head(call, stat_folder(call))[0]
    opened = _open(call)
    answer = build_head(call, opened.entry)[0]
    opened.require_bytes()
    return answer


def _open(call: Call) -> OpenObject:
    address = call.address
    if not address.path:
        call.services.catalog.repositories.get(address.bucket)
        raise NotFound("not found", kind="object_not_found")
    return call.services.catalog.objects.open(address.bucket, address.ref, address.path)


def build_head(call: Call, entry: Entry) -> tuple[Response, ByteRange | None]:
    """Returns the response without its body, and the requested range, None for the whole object."""
    verdict = evaluate_conditions(call.request.headers, entry)
    if verdict is ConditionResult.FAILED:
        raise S3Error("PreconditionFailed")
    headers = object_headers(entry)
    if verdict is ConditionResult.NOT_MODIFIED:
        return Response(_NOT_MODIFIED, headers=headers), None
    numbered = _find_part(call, entry) if "partNumber" in call.query else None
    part = _parse_range(call, entry) if numbered is None else numbered.range
    length = entry.size if part is None else part.length
    if length and part is not None:
        headers.append(("Content-Range", part.content_range))
    if numbered is not None and numbered.parts_count:
        headers.append(("x-amz-mp-parts-count", str(numbered.parts_count)))
    if wants_checksum(call):
        whole = stored_checksum(entry)
        if numbered is not None:
            headers += checksum_headers(numbered.checksum, whole)
        elif part is None:
            headers += checksum_headers(whole)
    for parameter, name in _HEADER_OVERRIDES.items() if call.query else ():
        if parameter in call.query:
            headers = [pair for pair in headers if pair[0] != name]
            headers.append((name, header_safe(call.query[parameter])))
    content_type = call.query.get("response-content-type") or entry.content_type
    answer = Response(
        200 if part is None else 206,
        content_type=header_safe(content_type),
        headers=headers,
        length=length,
    )
    return answer, part


def _parse_range(call: Call, entry: Entry) -> ByteRange | None:
    wanted = call.header("range")
    return parse_range(wanted, entry.size) if wanted else None


def _find_part(call: Call, entry: Entry) -> NumberedPart:
    if call.header("range"):
        raise S3Error(
            "InvalidRequest", "Cannot specify both Range header and partNumber query parameter"
        )
    return numbered_part(parse_part_number(call), entry)


OPERATIONS = (
    Operation(
        id="GetObject",
        method="GET",
        level=Level.OBJECT,
        permission=(Need(Action.READ_OBJECT, on_object),),
        execution=Execution.INLINE,
        handler=get_object,
    ),
    Operation(
        id="HeadObject",
        method="HEAD",
        level=Level.OBJECT,
        permission=(Need(Action.READ_OBJECT, on_object),),
        execution=Execution.INLINE,
        handler=head_object,
    ),
)
