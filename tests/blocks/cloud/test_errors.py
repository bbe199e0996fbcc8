"""What object stores refuse, as they say it, and what we make of that."""

from __future__ import annotations

import pytest

from anabranch.blocks.cloud.retry_policy import RetryPolicy
from anabranch.errors import AlreadyExists, Busy, Gone, Invalid, StoreRefused

IMPATIENT = RetryPolicy(deadline=60, retries=1)
ADDRESS, ODD = "s3://lake/a/b", "s3://lake/a//b"


@pytest.fixture
def s3(emulated_s3):
    """What may be made to answer anything."""
    return emulated_s3


@pytest.fixture
def answering(s3):
    """Lets the server answer everything so; returns a store on it."""

    def answer(status, code="", headers=()):
        body = f"<Error><Code>{code}</Code><Message>no</Message></Error>".encode() if code else b""

        def application(environ, start):
            environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
            start(f"{status} Status", [("Content-Type", "application/xml"), *headers])
            asked.append(environ["REQUEST_METHOD"])
            return [] if environ["REQUEST_METHOD"] == "HEAD" else [body]

        asked = []
        s3.answer = application
        return s3.blocks(retry_policy=IMPATIENT), asked

    yield answer
    s3.answer = None


def uses(store, address):
    return {
        "put": lambda: store.put(address, [b"x"]),
        "read": lambda: store.read(address),
        "copy": lambda: store.copy(address, address + "2"),
        "delete": lambda: store.delete([address]),
        "stat": lambda: store.stat(address),
        "list": lambda: list(store.list("s3://lake/a")),
        "open_upload": lambda: store.open_upload(address),
        "put_part": lambda: store.put_part(address, "id", 1, [b"x"]),
        "complete_upload": lambda: store.complete_upload(address, "id", [(1, "0" * 32)]),
        "abort_upload": lambda: store.abort_upload(address, "id"),
    }


WITHOUT_A_BODY = {"stat", "copy"}
"""These begin with HEAD, whose answer has no code in it."""


@pytest.mark.parametrize("address", [ADDRESS, ODD])
@pytest.mark.parametrize(
    ("status", "code", "kind"),
    [
        (404, "NoSuchBucket", "bucket_missing"),
        (403, "InvalidAccessKeyId", "storage_credentials"),
        (403, "SignatureDoesNotMatch", "storage_credentials"),
        (400, "ExpiredToken", "storage_credentials"),
        (403, "AccessDenied", "storage_permission"),
        (400, "AuthorizationHeaderMalformed", "storage_region"),
        (301, "PermanentRedirect", "storage_region"),
        (403, "RequestTimeTooSkewed", "storage_clock"),
    ],
)
def test_what_the_administrator_must_put_right(answering, address, status, code, kind):
    store, asked = answering(status, code)
    for name, use in uses(store, address).items():
        if name in WITHOUT_A_BODY:
            continue
        asked.clear()
        with pytest.raises(StoreRefused) as error:
            use()
        assert error.value.kind == kind, name
        assert error.value.hint, name
        assert len(asked) <= 2, f"{name} was asked again in vain"


@pytest.mark.parametrize("address", [ADDRESS, ODD])
def test_look_ups_without_permission_do_not_seem_to_find_nothing(answering, address):
    store, _ = answering(403)
    with pytest.raises(StoreRefused) as error:
        store.stat(address)
    assert error.value.kind == "storage_permission"


@pytest.mark.parametrize("address", [ADDRESS, ODD])
@pytest.mark.parametrize(
    ("status", "code", "kind"),
    [
        (503, "SlowDown", "storage_throttled"),
        (429, "TooManyRequests", "storage_throttled"),
        (500, "InternalError", "storage_failed"),
        (502, "", "storage_failed"),
    ],
)
def test_what_may_pass_is_tried_again_and_then_busy(answering, address, status, code, kind):
    store, asked = answering(status, code)
    for name, use in uses(store, address).items():
        asked.clear()
        with pytest.raises(Busy) as error:
            use()
        assert error.value.kind == kind, name
        assert error.value.hint, name
        assert 2 <= len(asked) <= 4, name


def test_an_error_that_comes_as_200_is_one(answering):
    store, _ = answering(200, "InternalError")
    for name in ("copy", "complete_upload", "list"):
        with pytest.raises(Busy):
            uses(store, ADDRESS)[name]()


def test_a_response_that_is_not_s3s_raises_busy(answering, s3):
    def page(environ, start):
        environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
        start("200 OK", [("Content-Type", "text/html")])
        return [b"<html><body>Welcome"]

    store, _ = answering(200)
    s3.answer = page
    for name in ("list", "open_upload"):
        with pytest.raises(Busy, match="response is not a"):
            uses(store, ADDRESS)[name]()


def test_an_existing_block_raises_already_exists(answering):
    store, asked = answering(412, "PreconditionFailed")
    for address in (ADDRESS, ODD):
        with pytest.raises(AlreadyExists):
            store.put(address, [b"x"], if_absent=True)
    assert asked == ["PUT", "PUT"]


@pytest.mark.parametrize("code", ["XMinioInvalidObjectName", "KeyTooLongError"])
def test_a_key_that_the_store_cannot_hold_raises_invalid(answering, code):
    store, _ = answering(400, code)
    for address in (ADDRESS, ODD):
        with pytest.raises(Invalid) as error:
            store.put(address, [b"x"])
        assert error.value.kind == "invalid_address"


def test_a_block_that_is_not_there_is_gone(answering):
    store, _ = answering(404, "NoSuchKey")
    for address in (ADDRESS, ODD):
        assert store.stat(address) is None
        store.delete([address])
        for use in (lambda a=address: store.read(a), lambda a=address: store.copy(a, a + "2")):
            with pytest.raises(Gone):
                use()


def test_one_error_in_between_is_not_noticed(s3, bucket):
    store, turns = s3.blocks(), []

    def every_other(environ, start):
        turns.append(None)
        if len(turns) % 2:
            environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
            start("503 Slow Down", [("Content-Type", "application/xml")])
            return [b"<Error><Code>SlowDown</Code></Error>"]
        return s3.pass_on(environ, start)

    s3.answer = every_other
    try:
        for address in (f"s3://{bucket}/a", f"s3://{bucket}/odd//a"):
            assert store.put(address, [b"x"]).size == 1
            assert store.read(address) == b"x"
            assert store.copy(address, address + "2").size == 1
            assert store.stat(address).size == 1
            assert [info.address for info in store.list(address)] == [address, address + "2"]
            store.delete([address])
            assert store.stat(address) is None
            upload = store.open_upload(address)
            part = store.put_part(address, upload, 1, [b"tea"])
            store.complete_upload(address, upload, [(1, part.checksum)])
            assert store.read(address) == b"tea"
    finally:
        s3.answer = None
