"""Parameters and headers that say nothing, or nothing that can be."""

from __future__ import annotations

import hashlib
import socket

import pytest

TEA = "/sea/main/abc"
NEW = "/sea/main/new"

WRONG = [
    ("/sea?max-keys=many", "InvalidArgument"),
    ("/sea?max-keys=-1", "InvalidArgument"),
    ("/sea?max-keys=1.5", "InvalidArgument"),
    ("/sea?max-keys=%D9%A3", "InvalidArgument"),
    ("/sea?max-keys=99999999999999999999", "InvalidArgument"),
    ("/sea?list-type=2&max-keys=0x10", "InvalidArgument"),
    ("/sea?versions=&max-keys=many", "InvalidArgument"),
    ("/sea?list-type=1", "InvalidArgument"),
    ("/sea?list-type=", "InvalidArgument"),
    ("/sea?encoding-type=base64", "InvalidArgument"),
    ("/sea?list-type=2&continuation-token=%F3&prefix=main%2F", "InvalidURI"),
    ("/sea?list-type=2&continuation-token=other&prefix=main%2F", "InvalidArgument"),
    ("/sea?prefix=%ff", "InvalidURI"),
    ("/sea?versions=&version-id-marker=7", "InvalidArgument"),
    (f"{TEA}?partNumber=0", "InvalidArgument"),
    (f"{TEA}?partNumber=10001", "InvalidArgument"),
    (f"{TEA}?partNumber=one", "InvalidArgument"),
    (f"{TEA}?attributes=", "InvalidRequest"),
]


@pytest.mark.parametrize(("path", "code"), WRONG)
@pytest.mark.sample(9)
def test_parameters_that_say_nothing(wire, path, code):
    wire.refuses(wire.request("GET", path), 400, code)


@pytest.mark.parametrize("amount", ["", "0", "1", "1000", "1001", "2147483647"])
def test_amounts_that_are_taken(wire, amount):
    assert wire.send(wire.request("GET", f"/sea?max-keys={amount}&prefix=main%2F")).status == 200


@pytest.mark.parametrize("number", ["0", "10001", "-1", "x", ""])
def test_part_numbers(wire, number):
    raw = wire.request("PUT", f"{NEW}?partNumber={number}&uploadId=x", b"part")
    wire.refuses(raw, 400, "InvalidArgument")


def test_uploads_that_are_not_there(wire):
    complete = (
        b"<CompleteMultipartUpload><Part><PartNumber>1</PartNumber>"
        b"<ETag>d41d8cd98f00b204e9800998ecf8427e</ETag></Part>"
        b"</CompleteMultipartUpload>"
    )
    for raw in (
        wire.request("PUT", f"{NEW}?partNumber=1&uploadId=nothing", b"part"),
        wire.request("POST", f"{NEW}?uploadId=nothing", complete),
        wire.request("DELETE", f"{NEW}?uploadId=nothing"),
        wire.request("GET", f"{NEW}?uploadId=nothing"),
    ):
        wire.refuses(raw, 404, "NoSuchUpload")


SUBRESOURCES = [
    ("PUT", "/sea?acl=", 501),
    ("PUT", "/sea?versioning=", 501),
    ("PUT", "/sea?policy=", 501),
    ("DELETE", "/sea?lifecycle=", 501),
    ("PUT", "/sea?website=", 501),
    ("GET", "/sea?inventory=", 501),
    ("GET", "/sea?analytics=", 501),
    ("PUT", f"{TEA}?acl=", 501),
    ("PUT", f"{TEA}?retention=", 501),
    ("PUT", f"{TEA}?legal-hold=", 501),
    ("GET", f"{TEA}?torrent=", 501),
    ("DELETE", f"{TEA}?acl=", 501),
    ("POST", f"{TEA}?select=&select-type=2", 405),
    ("POST", TEA, 405),
    ("PATCH", TEA, 405),
    ("DELETE", "/", 405),
    ("PUT", "/", 405),
]


@pytest.mark.parametrize(("method", "path", "status"), SUBRESOURCES)
@pytest.mark.sample(9)
def test_unsupported_sub_resource_is_rejected(wire, method, path, status):
    """Above all, `PUT ?acl` writes no object and `DELETE ?acl` deletes none."""
    code = {501: "NotImplemented", 405: "MethodNotAllowed"}[status]
    wire.refuses(wire.request(method, path, b"x" if method == "PUT" else b""), status, code)


def test_a_preflight_request_names_its_origin_and_its_method(wire):
    method = {"Access-Control-Request-Method": "PUT"}
    for headers in ({}, method, {"Origin": "https://app.example.com"}):
        wire.refuses(wire.request("OPTIONS", TEA, headers=headers), 400, "BadRequest")
    headers = {"Origin": "https://app.example.com", **method}
    wire.refuses(wire.request("OPTIONS", TEA, headers=headers), 403, "AccessForbidden")


def test_other_versions(wire):
    for method, path in (("GET", TEA), ("DELETE", TEA), ("PUT", f"{TEA}?tagging=&versionId=7")):
        target = path if "?" in path else f"{path}?versionId=7"
        wire.refuses(wire.request(method, target), 404, "NoSuchVersion")


def test_unknown_parameters_are_ignored(wire):
    reply = wire.send(wire.request("GET", f"{TEA}?x-id=GetObject&nonsense=1"))
    assert (reply.status, reply.body) == (200, b"0123456789")


def test_first_value_of_repeated_parameter_is_used(wire):
    path = "/sea?prefix=main%2Fa&prefix=main%2Ff&max-keys=1000&max-keys=many"
    body = wire.send(wire.request("GET", path)).body
    assert b"main/abc" in body
    assert b"folder" not in body
    changed = wire.request("GET", "/sea?prefix=a&prefix=b").replace(b"prefix=b", b"prefix=c")
    wire.refuses(changed, 403, "SignatureDoesNotMatch")


@pytest.mark.parametrize(
    "text", ["lines=1-2", "bytes", "bytes=", "bytes=-", "bytes=a-b", "bytes=5-2", "bytes=1-2,x"]
)
def test_a_range_that_is_none_is_passed_over(wire, text):
    reply = wire.send(wire.request("GET", TEA, headers={"Range": text}))
    assert (reply.status, reply.body) == (200, b"0123456789")


@pytest.mark.parametrize(
    "text", ["bytes=10-", "bytes=10-20", "bytes=-0", "bytes=" + "9" * 19 + "-"]
)
def test_a_range_beyond_the_end(wire, text):
    wire.refuses(wire.request("GET", TEA, headers={"Range": text}), 416, "InvalidRange")


def test_a_range_and_a_part(wire):
    raw = wire.request("GET", f"{TEA}?partNumber=1", headers={"Range": "bytes=1-2"})
    wire.refuses(raw, 400, "InvalidRequest")


@pytest.mark.parametrize(
    ("headers", "status", "code"),
    [
        ({"If-None-Match": '"etag"'}, 501, "NotImplemented"),
        ({"If-None-Match": '"a", "b"'}, 501, "NotImplemented"),
        ({"If-None-Match": "*, *"}, 501, "NotImplemented"),
        ({"If-None-Match": "*", "If-Match": "*"}, 501, "NotImplemented"),
        ({"If-Modified-Since": "Thu, 01 Jan 1970 00:00:00 GMT"}, 501, "NotImplemented"),
        ({"If-Unmodified-Since": "Thu, 01 Jan 2070 00:00:00 GMT"}, 501, "NotImplemented"),
        ({"x-amz-copy-source": TEA, "If-Unmodified-Since": "soon"}, 501, "NotImplemented"),
        ({"x-amz-copy-source": TEA, "If-None-Match": '"etag"'}, 501, "NotImplemented"),
        ({"x-amz-tagging": "a=1&a=2"}, 400, "InvalidTag"),
        ({"x-amz-tagging": "&".join(f"k{n}=v" for n in range(11))}, 400, "BadRequest"),
        ({"x-amz-tagging": "k" * 129 + "=v"}, 400, "InvalidTag"),
        ({"x-amz-meta-a": "v" * 2048}, 400, "MetadataTooLarge"),
        ({"x-amz-copy-source": TEA, "x-amz-metadata-directive": "MOVE"}, 400, "InvalidArgument"),
        ({"x-amz-copy-source": TEA, "x-amz-tagging-directive": "MOVE"}, 400, "InvalidArgument"),
        ({"If-Match": '"etag"'}, 404, "NoSuchKey"),
    ],
)
@pytest.mark.sample(8)
def test_headers_that_cannot_be(wire, headers, status, code):
    body = b"" if "x-amz-copy-source" in headers else b"x"
    wire.refuses(wire.request("PUT", NEW, body, headers), status, code)


ETAG = hashlib.md5(b"0123456789").hexdigest()


@pytest.mark.parametrize("method", ["PUT", "DELETE"])
@pytest.mark.parametrize(
    "wanted", [f'"{ETAG}", "other"', f'"other", "{ETAG}"', f'W/"{ETAG}"', '"*"', "*, *"]
)
@pytest.mark.sample(3)
def test_a_write_names_one_etag(wire, method, wanted):
    """A list, of which reads take any, matches no object, and nothing is written or deleted."""
    raw = wire.request(method, TEA, b"x" if method == "PUT" else b"", {"If-Match": wanted})
    wire.refuses(raw, 412, "PreconditionFailed")


@pytest.mark.parametrize(
    ("headers", "named"),
    [
        ({"If-None-Match": '"etag"'}, "If-None-Match"),
        ({"If-None-Match": "*", "If-Match": '"etag"'}, "If-Match,If-None-Match"),
        ({"If-Unmodified-Since": "Thu, 01 Jan 2070 00:00:00 GMT"}, "If-Unmodified-Since"),
    ],
)
def test_a_condition_that_is_not_taken_is_named(wire, headers, named):
    body = wire.send(wire.request("PUT", NEW, b"x", headers)).body.decode()
    assert f"<Header>{named}</Header><additionalMessage>" in body


@pytest.mark.parametrize(
    "headers",
    [
        {"If-None-Match": "*"},
        {"If-None-Match": '"etag"'},
        {"If-Unmodified-Since": "Thu, 01 Jan 2070 00:00:00 GMT"},
        {"If-Modified-Since": "Thu, 01 Jan 1970 00:00:00 GMT"},
    ],
)
def test_a_deletion_on_other_conditions_deletes_nothing(wire, headers):
    wire.refuses(wire.request("DELETE", TEA, headers=headers), 501, "NotImplemented")


def test_conditions_that_do_not_hold(wire):
    for headers in ({"If-None-Match": "*"}, {"If-Match": '"other"'}):
        wire.refuses(wire.request("PUT", TEA, b"x", headers), 412, "PreconditionFailed")
    for headers in (
        {"If-Match": '"other"'},
        {"x-amz-if-match-size": "11"},
        {"x-amz-if-match-last-modified-time": "Thu, 01 Jan 1970 00:00:00 GMT"},
    ):
        wire.refuses(wire.request("DELETE", TEA, headers=headers), 412, "PreconditionFailed")
    for headers in ({"x-amz-if-match-size": "ten"}, {"x-amz-if-match-last-modified-time": "now"}):
        wire.refuses(wire.request("DELETE", TEA, headers=headers), 400, "InvalidArgument")
    raw = wire.request("GET", TEA, headers={"If-Match": '"other"'})
    wire.refuses(raw, 412, "PreconditionFailed")


@pytest.mark.parametrize("size", [17 * 1024, 60 * 1024])
def test_headers_that_are_too_long(wire, size):
    one = {"x-other": "h" * size}
    many = {f"x-other-{n}": "h" * 1000 for n in range(size // 1000)}
    for headers in (one, many):
        raw = wire.request("PUT", NEW, b"x", then=headers)
        wire.refuses(raw, 400, "RequestHeaderSectionTooLarge")


@pytest.mark.parametrize(
    "damage",
    [
        lambda raw: raw.replace(b"Content-Length: 1", b"Content-Length: x"),
        lambda raw: raw.replace(b"Content-Length: 1", b"Content-Length: -1"),
        lambda raw: raw.replace(b"Content-Length: 1", b"Content-Length: 1\r\nContent-Length: 2"),
        lambda raw: raw.replace(b"HTTP/1.1", b"HTTP/7.7", 1),
        lambda raw: raw.replace(b"PUT ", b"P\x00T ", 1),
        lambda raw: raw.replace(b"Host:", b"Ho st:", 1),
    ],
)
def test_malformed_http_closes_the_connection(wire, damage):
    before = wire.state(), wire.files()
    with wire.connect() as connection:
        connection.sendall(damage(wire.request("PUT", NEW, b"x")))
        connection.shutdown(socket.SHUT_WR)
        answer = b""
        while piece := connection.recv(1000):
            answer += piece
    assert answer.startswith((b"HTTP/1.1 400 ", b"HTTP/1.1 505 "))
    assert b"connection: close" in answer.lower()
    wire.nothing_came_of_it(before)


def test_answers_to_head_tell_by_their_status_alone(wire):
    for path, status in (("/sea/main/none", 404), ("/nowhere", 404), (f"{TEA}?partNumber=0", 400)):
        reply = wire.send(wire.request("HEAD", path, then={"Content-Length": None}))
        assert (reply.status, reply.body) == (status, b"")
        assert reply.headers["x-amz-request-id"]
    raw = wire.request("HEAD", TEA, then={"Content-Length": None}, secret="wrong")
    assert wire.send(raw).status == 403
