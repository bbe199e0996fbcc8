"""Error responses of object stores, and the errors that they raise."""

from __future__ import annotations

import pytest
from support.session.sizes import sized

from anabranch.blocks.cloud.retry_policy import RetryPolicy
from anabranch.errors import AlreadyExists, Busy, Gone, Invalid, StoreRefused

ONE_RETRY = RetryPolicy(deadline=60, retries=1)
ADDRESS, ODD = "s3://lake/a/b", "s3://lake/a//b"


@pytest.fixture
def s3(emulated_s3):
    """A service whose responses the tests can choose."""
    return emulated_s3


@pytest.fixture
def responding_with(s3):
    """Makes the server send one response to all requests; returns a store on it."""

    def respond(status, code="", headers=()):
        body = f"<Error><Code>{code}</Code><Message>no</Message></Error>".encode() if code else b""

        def application(environ, start):
            environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
            start(f"{status} Status", [("Content-Type", "application/xml"), *headers])
            requests.append(environ["REQUEST_METHOD"])
            return [] if environ["REQUEST_METHOD"] == "HEAD" else [body]

        requests = []
        s3.answer = application
        return s3.blocks(retry_policy=ONE_RETRY), requests

    yield respond
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


BEGINNING_WITH_HEAD = {"stat", "copy"}
"""Calls that start with HEAD, whose response has no error code."""


@pytest.mark.parametrize("address", [ADDRESS, ODD])
@pytest.mark.parametrize(
    ("status", "code", "kind"),
    [
        (404, "NoSuchBucket", "bucket_missing"),
        (403, "InvalidAccessKeyId", "storage_credentials"),
        (403, "SignatureDoesNotMatch", "storage_credentials"),
        (400, "ExpiredToken", "credentials_expired"),
        (403, "AccessDenied", "storage_permission"),
        (400, "AuthorizationHeaderMalformed", "storage_region"),
        (301, "PermanentRedirect", "storage_region"),
        (403, "RequestTimeTooSkewed", "storage_clock"),
    ],
)
def test_errors_of_configuration_raise_store_refused_without_retries(
    responding_with, address, status, code, kind
):
    store, requests = responding_with(status, code)
    for name, use in uses(store, address).items():
        if name in BEGINNING_WITH_HEAD:
            continue
        requests.clear()
        with pytest.raises(StoreRefused) as error:
            use()
        assert error.value.kind == kind, name
        assert error.value.hint, name
        assert len(requests) <= 2, f"{name} was retried in vain"


@pytest.mark.parametrize("address", [ADDRESS, ODD])
def test_a_lookup_without_permission_raises_store_refused(responding_with, address):
    store, _ = responding_with(403)
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
@pytest.mark.sample(1)
def test_temporary_errors_are_retried_and_then_raise_busy(
    responding_with, address, status, code, kind
):
    store, requests = responding_with(status, code)
    for name, use in uses(store, address).items():
        requests.clear()
        with pytest.raises(Busy) as error:
            use()
        assert error.value.kind == kind, name
        assert error.value.hint, name
        assert 2 <= len(requests) <= 4, name


def test_an_error_with_status_200_raises_busy(responding_with):
    store, _ = responding_with(200, "InternalError")
    for name in ("copy", "complete_upload", "list"):
        with pytest.raises(Busy):
            uses(store, ADDRESS)[name]()


def test_a_response_that_is_not_s3s_raises_busy(responding_with, s3):
    def page(environ, start):
        environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
        start("200 OK", [("Content-Type", "text/html")])
        return [b"<html><body>Welcome"]

    store, _ = responding_with(200)
    s3.answer = page
    for name in ("list", "open_upload"):
        with pytest.raises(Busy, match="response is not a"):
            uses(store, ADDRESS)[name]()


def test_an_existing_block_raises_already_exists(responding_with):
    store, requests = responding_with(412, "PreconditionFailed")
    for address in (ADDRESS, ODD):
        with pytest.raises(AlreadyExists):
            store.put(address, [b"x"], if_absent=True)
    assert requests == ["PUT", "PUT"]


@pytest.mark.parametrize("code", ["XMinioInvalidObjectName", "KeyTooLongError"])
def test_a_key_that_the_store_cannot_hold_raises_invalid(responding_with, code):
    store, _ = responding_with(400, code)
    for address in (ADDRESS, ODD):
        with pytest.raises(Invalid) as error:
            store.put(address, [b"x"])
        assert error.value.kind == "invalid_address"


def test_a_missing_block_raises_gone(responding_with):
    store, _ = responding_with(404, "NoSuchKey")
    for address in (ADDRESS, ODD):
        assert store.stat(address) is None
        store.delete([address])
        for use in (lambda a=address: store.read(a), lambda a=address: store.copy(a, a + "2")):
            with pytest.raises(Gone):
                use()


def test_single_errors_are_hidden_by_retries(s3, bucket):
    store, requests = s3.blocks(), []

    def every_other(environ, start):
        requests.append(None)
        if len(requests) % 2:
            environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
            start("503 Slow Down", [("Content-Type", "application/xml")])
            return [b"<Error><Code>SlowDown</Code></Error>"]
        return s3.pass_on(environ, start)

    s3.answer = every_other
    try:
        for address in (f"s3://{bucket}/odd//a", f"s3://{bucket}/a")[: sized(1, weekly=2)]:
            assert store.put(address, [b"x"]).size == 1
            assert store.read(address) == b"x"
            assert store.copy(address, address + "2").size == 1
            assert store.stat(address).size == 1
            assert [info.address for info in store.list(address)] == [address, address + "2"]
            store.delete([address])
            assert store.stat(address) is None
            upload = store.open_upload(address)
            part = store.put_part(address, upload, 1, [b"abc"])
            store.complete_upload(address, upload, [(1, part.checksum)])
            assert store.read(address) == b"abc"
    finally:
        s3.answer = None
