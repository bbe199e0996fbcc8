"""Every gateway refuses an upload whose length differs from its Content-Length, and stores nothing.

The tests call the dispatcher directly, as a connection that loses or adds bytes would.
"""

from __future__ import annotations

import asyncio
import json
from base64 import b64encode
from urllib.parse import urlsplit

import boto3
import pytest
from support.stored_files import stored_files

from anabranch.http.request_head import RequestHead
from anabranch.model.secret import Secret
from anabranch.server.composition import Composition
from anabranch.server.config.field import build
from anabranch.server.http.request_body import RequestBody

KEY, SECRET = "AKIAJTESTTESTTESTTEQ", "a-secret-that-is-long-enough"
URL = "http://127.0.0.1:8000"
OBJECTS = f"{URL}/api/v1/repositories/sea/branches/main/objects?path="
SMALL, LARGE = b"1,2\n" * 10, b"1,2\n" * 50_000


class Application:
    """The composition of a server, without sockets."""

    def __init__(self, folder):
        values = {
            "data": folder,
            "database.type": "mem",
            "blockstore.local.path": folder / "block",
            "blockstore.local.pre_signed": True,
            "blockstore.signing.secret_key": Secret("another secret, long enough"),
            "auth.encrypt.secret_key": Secret("a secret, long enough"),
            "committed.local_cache.dir": folder / "cache",
            "installation.user_name": "admin",
            "installation.access_key_id": KEY,
            "installation.secret_access_key": Secret(SECRET),
        }
        self.folder = folder
        self.composition = Composition(build(values))
        self.composition.start()
        self.s3 = boto3.client(
            "s3",
            endpoint_url=URL,
            aws_access_key_id=KEY,
            aws_secret_access_key=SECRET,
            region_name="us-east-1",
        )

    def call(self, method, url, body=b"", length=None, piece=1 << 16, **headers):
        """Returns a response's status and body; `length` is the request's Content-Length."""
        parts = urlsplit(url)
        length = len(body) if length is None else length
        names = {name.replace("_", "-"): text for name, text in headers.items()}
        head = RequestHead.sent(
            method,
            parts.path,
            parts.query,
            {"host": parts.netloc, "content-length": str(length), **names},
            scheme="http",
            client="127.0.0.1",
        )
        response = asyncio.run(self._response(head, body, length, piece))
        return response.status, response.body

    async def _response(self, head, body, length, piece):
        dispatcher = self.composition.dispatcher
        exchange = dispatcher.dispatch(head, length, arrived=False)
        if exchange.response is not None:
            return exchange.response
        if exchange.takes_body_first:
            done = asyncio.get_running_loop().create_future()
            dispatcher.start(exchange, body, done.set_result)
            return await done
        stream = RequestBody(length, lambda _more: None)
        serving = asyncio.ensure_future(dispatcher.serve(exchange, stream, lambda: None))
        for start in range(0, len(body), piece):
            await asyncio.sleep(0)
            stream.feed(body[start : start + piece])
        stream.end()
        return await serving

    def rest(self, method, url, body=b"", **more):
        basic = b64encode(f"{KEY}:{SECRET}".encode()).decode()
        return self.call(method, url, body, authorization=f"Basic {basic}", **more)

    def presigned(self, operation, **params):
        params["Bucket"] = "sea"
        return self.s3.generate_presigned_url(operation, Params=params)


def raw(application, body, length):
    return application.rest("POST", f"{OBJECTS}a", body, length=length)


def form(application, body, length):
    start = b'--X\r\nContent-Disposition: form-data; name="content"; filename="a"\r\n\r\n'
    whole = start + body + b"\r\n--X--\r\n"
    kind = "multipart/form-data; boundary=X"
    length += len(whole) - len(body)
    return application.rest("POST", f"{OBJECTS}a", whole, length=length, content_type=kind)


def s3_object(application, body, length):
    url = application.presigned("put_object", Key="main/a")
    return application.call("PUT", url, body, length)


def s3_part(application, body, length):
    url = application.presigned("create_multipart_upload", Key="main/a")
    started = application.call("POST", url)[1].decode()
    upload = started.split("<UploadId>")[1].split("<")[0]
    url = application.presigned("upload_part", Key="main/a", UploadId=upload, PartNumber=1)
    response = application.call("PUT", url, body, length)
    url = application.presigned("list_parts", Key="main/a", UploadId=upload)
    parts = application.call("GET", url)[1]
    assert (b"<PartNumber>1<" in parts) == (response[0] == 200)
    url = application.presigned("abort_multipart_upload", Key="main/a", UploadId=upload)
    assert application.call("DELETE", url)[0] == 204
    return response


def block(application, body, length):
    target = "branches/main/staging/backing?path=a&presign=true"
    staging = application.rest("GET", f"{URL}/api/v1/repositories/sea/{target}")[1]
    return application.call("PUT", json.loads(staging)["presigned_url"], body, length)


@pytest.fixture(scope="module")
def application(tmp_path_factory):
    application = Application(tmp_path_factory.mktemp("lengths"))
    body = json.dumps({"name": "sea", "storage_namespace": "local://sea"}).encode()
    status, sent = application.rest(
        "POST", f"{URL}/api/v1/repositories", body, content_type="application/json"
    )
    assert status == 201, sent
    yield application
    application.composition.close()


@pytest.mark.parametrize("upload", [raw, form, s3_object, s3_part, block])
@pytest.mark.parametrize(
    ("body", "more"),
    [
        pytest.param(body, more, id=f"{len(body)}-{more}")
        for body in (b"", SMALL, LARGE)
        for more in (-1, 1, 1000, 500_000)
        if body or more > 0
    ],
)
def test_an_upload_whose_length_differs_from_content_length_is_refused(
    application, upload, body, more
):
    length = len(body) + more
    before = stored_files(application.folder / "block")
    status, sent = upload(application, body, length)
    assert status == 400, sent
    assert stored_files(application.folder / "block") == before
    stat = f"{URL}/api/v1/repositories/sea/refs/main/objects/stat?path=a"
    assert application.rest("GET", stat)[0] == 404


@pytest.mark.parametrize("upload", [raw, form, s3_object, s3_part, block])
@pytest.mark.parametrize("body", [b"", SMALL, LARGE], ids=["none", "small", "large"])
def test_an_upload_with_the_length_of_its_content_length_is_stored(application, upload, body):
    assert upload(application, body, len(body))[0] in {200, 201}
    application.rest("DELETE", f"{OBJECTS}a")
