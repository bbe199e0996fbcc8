"""Credentials that expire while a store is in use, and others that are found where they were."""

from __future__ import annotations

import threading
import uuid

import pytest

from anabranch.blocks.cloud.refreshed_credential import RENEWAL_INTERVAL, RefreshedCredential
from anabranch.blocks.cloud.retry_policy import RetryPolicy
from anabranch.blocks.s3.credentials import find_credentials
from anabranch.blocks.s3.endpoint import Credentials, S3Endpoint
from anabranch.blocks.s3.store import s3_blocks
from anabranch.errors import StoreRefused
from anabranch.model.secret import Secret

OLD, NEW = "AKIAOLD", "AKIANEW"
KEYS = [f"k/{number}" for number in range(5)]


class Expiry:
    """Answers requests with the key OLD as S3 does after it has expired, from the moment that
    `expire` is called. `renew` is then called once, before the first answer.
    """

    def __init__(self, service):
        self.service = service
        self.refused = []
        self.renew = lambda: None
        self.code, self.status = "ExpiredToken", "400 Bad Request"

    def expire(self):
        self.service.answer = self._answer

    def _answer(self, environ, start):
        if OLD not in environ.get("HTTP_AUTHORIZATION", ""):
            return self.service.pass_on(environ, start)
        if not self.refused:
            self.renew()
        self.refused.append(environ["REQUEST_METHOD"])
        environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
        start(self.status, [("Content-Type", "application/xml")])
        return [f"<Error><Code>{self.code}</Code></Error>".encode()]


@pytest.fixture
def expiry(emulated_s3):
    yield Expiry(emulated_s3)
    emulated_s3.answer = None


@pytest.fixture
def keys(tmp_path):
    """Writes a file of credentials."""
    file = tmp_path / "credentials"

    def write(access_key_id):
        file.write_text(
            f"[default]\naws_access_key_id = {access_key_id}\naws_secret_access_key = s\n"
            "aws_session_token = t\n"
        )

    write(OLD)
    write.file = str(file)
    return write


@pytest.fixture
def bucket(emulated_s3):
    name = f"renewed-{uuid.uuid4().hex}"
    emulated_s3.make_bucket(name)
    blocks = emulated_s3.blocks()
    for key in KEYS:
        blocks.put(f"s3://{name}/{key}", [b"old"])
    blocks.put(f"s3://{name}/odd//key", [b"old"])
    return f"s3://{name}/"


def open_blocks(emulated_s3, **source):
    access = S3Endpoint(
        find_credentials(**source),
        endpoint=emulated_s3.endpoint,
        region="us-east-1",
        path_style=True,
    )
    return s3_blocks(access, retry_policy=RetryPolicy(deadline=5, retries=2))


OPERATIONS = {
    "read": lambda blocks, at: blocks.read(f"{at}k/1"),
    "read an odd key": lambda blocks, at: blocks.read(f"{at}odd//key"),
    "stat": lambda blocks, at: blocks.stat(f"{at}k/1").size,
    "stat an odd key": lambda blocks, at: blocks.stat(f"{at}odd//key").size,
    "write": lambda blocks, at: blocks.put(f"{at}new", [b"new"]).size,
    "write an odd key": lambda blocks, at: blocks.put(f"{at}new//", [b"new"]).size,
    "remove": lambda blocks, at: blocks.delete([f"{at}k/1", f"{at}k/2"]),
    "copy": lambda blocks, at: blocks.copy(f"{at}k/1", f"{at}copied").checksum,
    "list": lambda blocks, at: [block.address.removeprefix(at) for block in blocks.list(f"{at}k/")],
    "upload": lambda blocks, at: blocks.open_upload(f"{at}uploaded") != "",
}


@pytest.mark.parametrize("operation", OPERATIONS.values(), ids=OPERATIONS)
def test_requests_are_repeated_with_the_credentials_that_a_file_has_now(
    emulated_s3, expiry, keys, bucket, operation
):
    expected = operation(open_blocks(emulated_s3, credentials_file=keys.file), bucket)
    blocks = open_blocks(emulated_s3, credentials_file=keys.file)
    assert blocks.stat(f"{bucket}k/0").size == 3
    expiry.renew = lambda: keys(NEW)
    expiry.expire()
    assert operation(blocks, bucket) == expected
    assert expiry.refused


def test_requests_are_repeated_with_the_credentials_that_the_environment_has_now(
    emulated_s3, expiry, bucket, monkeypatch
):
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "s")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", OLD)
    blocks = open_blocks(emulated_s3)
    assert blocks.stat(f"{bucket}k/0").size == 3
    expiry.renew = lambda: monkeypatch.setenv("AWS_ACCESS_KEY_ID", NEW)
    expiry.expire()
    assert blocks.read(f"{bucket}k/1") == b"old"
    assert expiry.refused


def test_a_listing_continues_after_the_last_key_that_it_has_yielded(
    emulated_s3, expiry, keys, bucket, monkeypatch
):
    """Pages have two keys here, and the credentials expire between two of them."""
    monkeypatch.setattr(expiry.service, "pass_on", with_pages_of(emulated_s3.pass_on, 2))
    emulated_s3.answer = emulated_s3.pass_on
    blocks = open_blocks(emulated_s3, credentials_file=keys.file)
    expiry.renew = lambda: keys(NEW)
    listed = []
    for block in blocks.list(f"{bucket}k/"):
        listed.append(block.address.removeprefix(bucket))
        if len(listed) == 1:
            expiry.expire()
    assert listed == KEYS
    assert expiry.refused


def with_pages_of(application, size):
    def answer(environ, start):
        if "list-type" in environ["QUERY_STRING"]:
            environ["QUERY_STRING"] += f"&max-keys={size}"
        return application(environ, start)

    return answer


@pytest.mark.parametrize("operation", OPERATIONS.values(), ids=OPERATIONS)
def test_without_other_credentials_the_error_tells_the_store_the_reason_and_what_to_do(
    emulated_s3, expiry, keys, bucket, operation
):
    blocks = open_blocks(emulated_s3, credentials_file=keys.file)
    expiry.expire()
    with pytest.raises(StoreRefused) as error:
        operation(blocks, bucket)
    assert error.value.kind == "credentials_expired"
    assert bucket in error.value.message
    assert "400 ExpiredToken: the credentials have expired" in error.value.message
    assert "Renew the credentials" in error.value.hint


def test_a_key_that_was_replaced_is_renewed_too(emulated_s3, expiry, keys, bucket):
    expiry.code, expiry.status = "InvalidAccessKeyId", "403 Forbidden"
    blocks = open_blocks(emulated_s3, credentials_file=keys.file)
    expiry.renew = lambda: keys(NEW)
    expiry.expire()
    assert blocks.stat(f"{bucket}k/1").size == 3


def test_a_missing_permission_is_no_reason_to_look_for_credentials(
    emulated_s3, expiry, keys, bucket
):
    expiry.code, expiry.status = "AccessDenied", "403 Forbidden"
    blocks = open_blocks(emulated_s3, credentials_file=keys.file)
    expiry.renew = lambda: keys(NEW)
    expiry.expire()
    with pytest.raises(StoreRefused) as error:
        blocks.read(f"{bucket}k/1")
    assert error.value.kind == "storage_permission"
    assert len(expiry.refused) == 1


def test_requests_end_although_a_source_returns_other_expired_credentials_each_time(
    emulated_s3, expiry, bucket
):
    calls = iter(range(1_000))

    def find():
        return Credentials(f"{OLD}{next(calls)}", Secret("s"))

    access = S3Endpoint(
        find,
        endpoint=emulated_s3.endpoint,
        region="us-east-1",
        path_style=True,
    )
    blocks = s3_blocks(access, retry_policy=RetryPolicy(deadline=5, retries=2))
    expiry.expire()
    for operation in OPERATIONS.values():
        with pytest.raises(StoreRefused):
            operation(blocks, bucket)
    assert len(expiry.refused) < 12 * len(OPERATIONS)


def test_many_refused_requests_look_for_credentials_once():
    fetched, forgotten = [], []

    def fetch():
        fetched.append(1)
        return len(fetched)

    source = RefreshedCredential(fetch, forget=lambda: forgotten.append(1), check_interval=3600)
    assert source() == 1
    threads = [threading.Thread(target=source.renew, args=(1,)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert source() == 2
    assert len(fetched) == 2
    assert len(forgotten) == 1


def test_credentials_that_stay_refused_are_looked_for_once_in_an_interval(monkeypatch):
    fetched, now = [], [100.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    source = RefreshedCredential(lambda: fetched.append(1) or "same", check_interval=3600)
    assert source() == "same"
    assert [source.renew("same") for _ in range(3)] == ["same"] * 3
    assert len(fetched) == 2
    now[0] += RENEWAL_INTERVAL
    assert source.renew("same") == "same"
    assert len(fetched) == 3


def test_a_block_that_looks_like_a_refusal_is_read_once(emulated_s3, bucket):
    fetched = []

    def find():
        fetched.append(1)
        return Credentials(f"{NEW}{len(fetched)}", Secret("s"))

    access = S3Endpoint(find, endpoint=emulated_s3.endpoint, region="us-east-1", path_style=True)
    blocks = s3_blocks(access)
    text = b"<Error><Code>ExpiredToken</Code></Error>"
    blocks.put(f"{bucket}odd//refusal", [text])
    reads = []
    emulated_s3.answer = lambda environ, start: (
        reads.append(environ["REQUEST_METHOD"]) or emulated_s3.pass_on(environ, start)
    )
    try:
        assert blocks.read(f"{bucket}odd//refusal") == text
    finally:
        emulated_s3.answer = None
    assert reads.count("GET") == 1
