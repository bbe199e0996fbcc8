"""Which responses get a line about their failure, and what it says."""

from __future__ import annotations

import logging

import pytest

from anabranch.errors import Busy, Corrupt, Gone, NotFound, NotSupported
from anabranch.http.request_head import RequestHead
from anabranch.server.observability.failure_log import log_failure


def response(caplog, status, error):
    head = RequestHead.sent("GET", "/a", "secret=1", {}, scheme="http", client="")
    with caplog.at_level(logging.DEBUG):
        log_failure("api", "getObject", status, error, head, "id-1")
    return caplog.records


@pytest.mark.parametrize(
    ("status", "error", "level"),
    [
        (500, Corrupt("the table is damaged", path="t"), logging.ERROR),
        (410, Gone("there is no data", kind="data_missing"), logging.ERROR),
        (409, Corrupt("the table is damaged"), logging.ERROR),
        (200, Corrupt("one key of many"), logging.ERROR),
        (503, Busy("the disk is full", kind="disk_full"), logging.WARNING),
        (501, NotSupported("Not Implemented"), logging.INFO),
    ],
)
def test_a_server_side_failure_is_logged_in_one_line(caplog, status, error, level):
    (record,) = response(caplog, status, error)
    assert record.levelno == level
    assert record.getMessage() == f"GET /a {status} {error.kind}: {error} (id-1)"
    assert record.exc_info is None
    assert record.fields["request_id"] == "id-1"


def test_client_errors_are_not_logged_as_failures(caplog):
    assert response(caplog, 404, NotFound("there is none")) == []
    assert response(caplog, 410, Gone("being deleted", kind="repository_in_deletion")) == []


def test_an_error_of_the_program_has_its_traceback(caplog):
    (record,) = response(caplog, 500, ValueError("spilled"))
    assert record.exc_info[1].args == ("spilled",)
    assert "ValueError: spilled" in record.getMessage()


def test_a_cause_cannot_forge_a_line(caplog):
    (record,) = response(caplog, 500, Corrupt("a\r\n2026 INFO forged\x1b[1m\u2028\ud800"))
    assert "\\x0d\\x0a2026 INFO forged\\x1b[1m\\x2028\\xd800" in record.getMessage()
