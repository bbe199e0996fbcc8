"""Odd keys, in requests that botocore signs, without the transformations of a client."""

from __future__ import annotations

import http.client
import re
import unicodedata
from urllib.parse import quote, quote_plus, unquote, urlsplit
from xml.etree import ElementTree as ET

import pytest
from botocore.auth import HmacV1Auth, S3SigV4Auth, S3SigV4QueryAuth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from support.clients import odd_keys
from support.clients.odd_keys import BRANCH, LONGEST, ODD_KEYS, content_of

from anabranch.model.names import MAX_PATH_BYTES

SPACE = "{http://s3.amazonaws.com/doc/2006-03-01/}"


class Wire:
    """Sends requests with paths as they are given, over one connection."""

    def __init__(self, server):
        self.server = server
        self.connection = http.client.HTTPConnection(urlsplit(server.url).netloc, timeout=30)
        self.credentials = Credentials(*server.auth)

    def send(self, method, path, query="", body=b"", headers=(), *, sign="v4"):
        """Sends `path`, encoded already, and returns the status, the headers and the body."""
        url = f"{self.server.url}{path}" + (f"?{query}" if query else "")
        request = AWSRequest(method, url, dict(headers), data=b"" if sign == "presigned" else body)
        self._signer(sign).add_auth(request)
        target = request.url.removeprefix(self.server.url)
        self.connection.request(method, target, body or None, dict(request.headers))
        answer = self.connection.getresponse()
        return answer.status, answer.headers, answer.read()

    def _signer(self, sign):
        if sign == "v2":
            return HmacV1Auth(self.credentials)
        if sign == "presigned":
            return S3SigV4QueryAuth(self.credentials, "s3", "us-east-1")
        return S3SigV4Auth(self.credentials, "s3", "us-east-1")

    def pages(self, bucket, version="2", **parameters):
        """Yields the documents of a listing, a page after the other, keys decoded."""
        after = ""
        while True:
            query = {"prefix": f"{BRANCH}/", "encoding-type": "url", **parameters}
            if version == "2":
                query["list-type"] = "2"
            if after:
                query["continuation-token" if version == "2" else "marker"] = after
            text = "&".join(f"{name}={quote(value, safe='')}" for name, value in query.items())
            status, _, body = self.send("GET", f"/{bucket}", text)
            assert status == 200, body
            page = ET.fromstring(body)  # noqa: S314  our own server wrote it
            yield page
            if page.findtext(f"{SPACE}IsTruncated") != "true":
                return
            token = page.findtext(f"{SPACE}NextContinuationToken")
            after = unquote(page.findtext(f"{SPACE}NextMarker")) if token is None else token


def path_of(bucket, key, safe="/~"):
    return f"/{bucket}/{BRANCH}/{quote(key, safe=safe)}"


def keys_of(page):
    return [unquote(item.text) for item in page.iterfind(f"{SPACE}Contents/{SPACE}Key")]


@pytest.fixture(scope="module")
def wire(server):
    return Wire(server)


@pytest.fixture(scope="module")
def filled(wire, new_bucket):
    """A repository that has all of them, each put in one of the ways of signing."""
    bucket = new_bucket()
    for number, key in enumerate(ODD_KEYS):
        sign = ("v4", "v2", "presigned")[number % 3]
        status, _, body = wire.send("PUT", path_of(bucket, key), body=content_of(key), sign=sign)
        assert status == 200, (key, sign, body)
    return bucket


def test_unusual_keys_are_many_and_distinct():
    assert len(ODD_KEYS) == len(set(ODD_KEYS)) > 250
    assert max(len(key.encode()) for key in ODD_KEYS) == LONGEST
    composed = {unicodedata.normalize("NFC", key) for key in ODD_KEYS}
    assert len(composed) < len(ODD_KEYS)
    for trait in (
        odd_keys.control_characters,
        odd_keys.not_in_xml,
        odd_keys.dot_segments,
        odd_keys.empty_segments,
        odd_keys.edge_spaces,
    ):
        assert any(map(trait, ODD_KEYS)), trait


def test_the_paths_of_files_can_lie_in_one_folder(tmp_path):
    files = odd_keys.file_paths()
    assert len(files) > 200
    for key in files:
        path = tmp_path / key
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content_of(key))
    found = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()}
    assert found == set(files)


@pytest.mark.parametrize("sign", ["v4", "v2", "presigned"])
@pytest.mark.sample(1)
def test_all_keys_are_readable(wire, filled, sign):
    for key in ODD_KEYS:
        status, headers, body = wire.send("GET", path_of(filled, key), sign=sign)
        assert (status, body) == (200, content_of(key)), key
        length = str(len(content_of(key)))
        status, headers, body = wire.send("HEAD", path_of(filled, key), sign=sign)
        assert (status, headers["content-length"], body) == (200, length, b""), key


@pytest.mark.parametrize("safe", ["", "/~!'()*", "/~!$&'()*+,:;=@"])
@pytest.mark.sample(1)
def test_any_percent_encoding_of_a_key_works(wire, filled, safe):
    """Slashes, too, and the marks that RFC 3986 leaves to the sender."""
    for key in ODD_KEYS:
        status, _, body = wire.send("GET", path_of(filled, key, safe))
        assert (status, body) == (200, content_of(key)), key


@pytest.mark.parametrize("version", ["1", "2"])
@pytest.mark.parametrize("size", ["1000", "7"])
def test_all_keys_are_listed_in_byte_order(wire, filled, version, size):
    listed = [
        key for page in wire.pages(filled, version, **{"max-keys": size}) for key in keys_of(page)
    ]
    expected = sorted((f"{BRANCH}/{key}" for key in ODD_KEYS), key=str.encode)
    assert listed == expected


@pytest.mark.parametrize("version", ["1", "2"])
@pytest.mark.parametrize("delimiter", ["/", "%", " ", "é", "b/"])
@pytest.mark.sample(3)
def test_common_prefixes_of_unusual_keys(wire, filled, version, delimiter):
    keys, prefixes = set(), set()
    for key in ODD_KEYS:
        head, found, _ = key.partition(delimiter)
        (prefixes if found else keys).add(f"{BRANCH}/{head}{found}")
    listed, rolled = [], []
    for page in wire.pages(filled, version, delimiter=delimiter, **{"max-keys": "11"}):
        listed += keys_of(page)
        found = page.iterfind(f"{SPACE}CommonPrefixes/{SPACE}Prefix")
        rolled += [unquote(item.text) for item in found]
    assert listed == sorted(keys, key=str.encode)
    assert rolled == sorted(prefixes, key=str.encode)


def test_each_key_matches_itself_as_prefix(wire, filled):
    for key in ODD_KEYS:
        full = f"{BRANCH}/{key}"
        (page,) = wire.pages(filled, prefix=full)
        assert keys_of(page)[0] == full
        assert unquote(page.findtext(f"{SPACE}Prefix")) == full
        assert all(other.startswith(full) for other in keys_of(page))


def test_keys_without_encoding_are_listed_as_xml_text(wire, filled):
    """Characters that XML 1.0 has not are written as numbers, as S3 writes them: a parser of
    XML 1.1 reads them, and whoever has none asks for `encoding-type=url`."""
    _, _, body = wire.send("GET", f"/{filled}", f"list-type=2&prefix={BRANCH}/")
    texts = re.findall(r"<Key>([^<]*)</Key>", body.decode())
    named = {"lt": "<", "gt": ">", "amp": "&", "quot": '"'}

    def character(match):
        return chr(int(match[1], 16)) if match[1] else named[match[2]]

    read = [re.sub(r"&(?:#x([0-9A-F]+)|([a-z]+));", character, text) for text in texts]
    assert sorted(read) == sorted(f"{BRANCH}/{key}" for key in ODD_KEYS)


@pytest.mark.parametrize("encode", [quote, quote_plus])
@pytest.mark.slow
def test_all_keys_can_be_copied(wire, filled, new_bucket, encode):
    bucket = new_bucket()
    for key in ODD_KEYS:
        source = {"x-amz-copy-source": encode(f"/{filled}/{BRANCH}/{key}")}
        status, _, body = wire.send("PUT", path_of(bucket, key), headers=source)
        assert (status, b"<CopyObjectResult" in body) == (200, True), key
        status, _, body = wire.send("GET", path_of(bucket, key))
        assert (status, body) == (200, content_of(key)), key


@pytest.mark.slow
def test_all_keys_can_be_deleted(wire, filled, new_bucket):
    bucket = new_bucket()
    for key in ODD_KEYS:
        wire.send("PUT", path_of(bucket, key), body=content_of(key))
    for key in ODD_KEYS:
        assert wire.send("DELETE", path_of(bucket, key))[0] == 204
        assert wire.send("HEAD", path_of(bucket, key))[0] == 404, key
    (page,) = wire.pages(bucket)
    assert keys_of(page) == []
    (page,) = wire.pages(filled)
    assert len(keys_of(page)) == len(ODD_KEYS)


def test_a_path_may_be_longer_than_a_key_of_s3_but_not_than_a_path(wire, new_bucket):
    bucket = new_bucket()
    longest = "p" * MAX_PATH_BYTES
    assert wire.send("PUT", path_of(bucket, longest), body=b"x")[0] == 200
    status, _, body = wire.send("PUT", path_of(bucket, longest + "p"), body=b"x")
    assert (status, b"<Code>KeyTooLongError</Code>" in body) == (400, True), body


@pytest.mark.parametrize("token", ["%25FF", "%25FFmain/", "%25%00", "%25", "%25zz"])
def test_forged_tokens_are_refused(wire, filled, token):
    query = f"continuation-token={token}&list-type=2"
    assert wire.send("GET", f"/{filled}", query)[0] in {200, 400}
    status, _, body = wire.send("GET", f"/{filled}", f"{query}&prefix={BRANCH}/")
    assert (status, b"<Code>InvalidArgument</Code>" in body) == (400, True)
