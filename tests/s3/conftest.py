"""Requests signed by botocore, as our server would receive them, and a gate for them."""

from __future__ import annotations

from typing import NamedTuple
from urllib.parse import parse_qs, urlsplit

import msgspec
import pytest
from botocore.auth import HmacV1Auth, HmacV1QueryAuth, S3SigV4Auth, S3SigV4QueryAuth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from anabranch.model.secret import Secret
from anabranch.s3.signatures.timestamps import parse_date_header
from anabranch.s3.signatures.verifier import Verifier
from anabranch.signing.request import Request
from anabranch.signing.timestamps import parse_compact

KEY = "AKIAIOSFODNN7EXAMPLE"
SECRET = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"


class Sent(NamedTuple):
    """A signed request, and when it was signed, in seconds since 1970."""

    request: Request
    time: float


class Botocore:
    """Signs drafts as boto3 does."""

    def __init__(self, secret=SECRET):
        self.secret = secret

    def header(self, draft, **context) -> Sent:
        request = self.unsigned(draft)
        request.context.update(context)
        S3SigV4Auth(self.credentials(draft), "s3", draft.region).add_auth(request)
        return Sent(received(request), parse_compact(request.context["timestamp"]))

    def presigned(self, draft, expires=3600) -> Sent:
        request = self.unsigned(draft._replace(body=b""))
        S3SigV4QueryAuth(self.credentials(draft), "s3", draft.region, expires).add_auth(request)
        return Sent(received(request), parse_compact(request.context["timestamp"]))

    def header_v2(self, draft, bucket="") -> Sent:
        request = self.unsigned(draft)
        if bucket:
            request.auth_path = f"/{bucket}{urlsplit(draft.url).path}"
        HmacV1Auth(self.credentials(draft)).add_auth(request)
        signed_at = parse_date_header(request.headers["date"])
        return Sent(received(request, bucket=bucket), signed_at)

    def presigned_v2(self, draft, expires=3600) -> Sent:
        request = self.unsigned(draft._replace(body=b""))
        HmacV1QueryAuth(self.credentials(draft), expires).add_auth(request)
        url = urlsplit(request.prepare().url)
        # what was signed as headers is in the query now, and is not sent as headers
        sent = Request.from_wire(draft.method, url.path, url.query, [("host", url.netloc)])
        (expires_at,) = parse_qs(url.query)["Expires"]
        return Sent(sent, int(expires_at) - expires)

    def credentials(self, draft) -> Credentials:
        return Credentials(KEY, self.secret, draft.token)

    def unsigned(self, draft) -> AWSRequest:
        return AWSRequest(draft.method, draft.full_url, dict(draft.headers), data=draft.body)


def received(request, **known) -> Request:
    prepared = request.prepare()
    url = urlsplit(prepared.url)
    headers = [("Host", url.netloc), *prepared.headers.items()]
    return Request.from_wire(prepared.method, url.path, url.query, headers, **known)


class Gate:
    """A verifier that knows two keys, with a clock that is set by hand."""

    def __init__(self):
        self.now = 0.0
        self.secrets = {KEY: Secret(SECRET), "AKIAI44QH8DHBEXAMPLE": Secret("another secret")}
        self.verifier = Verifier(self.secrets.get, lambda: self.now)

    def admit(self, sent, *, after=0.0):
        self.now = sent.time + after
        return self.verifier.verify(sent.request)


def damages(request):
    """Yields what was damaged, and the request with just that damaged: the method, a character
    of the path, a parameter, a header.
    """
    change = msgspec.structs.replace
    yield "method", change(request, method="GET" if request.method == "PUT" else "PUT")
    yield "path", change(request, path=request.path + "x")
    yield "path", change(request, path=request.path + "/")
    if "//" in request.path:
        yield "path", change(request, path=request.path.replace("//", "/", 1))
    for name in request.headers:
        if name in {"authorization", "x-amz-date", "date", "x-amz-content-sha256"}:
            continue  # each has an error of its own
        if name == "host" or name.startswith(("x-amz-", "content-md5", "content-type")):
            value = request.headers[name]
            yield name, change(request, headers={**request.headers, name: value + "x"})
            if value:
                less = {other: text for other, text in request.headers.items() if other != name}
                yield name, change(request, headers=less)


@pytest.fixture(scope="session")
def botocore():
    return Botocore()


@pytest.fixture(scope="session")
def gate():
    return Gate()


@pytest.fixture(scope="session")
def damaged():
    return damages
