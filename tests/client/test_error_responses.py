"""Errors from the responses of servers: Anabranch's, lakeFS's, and those of other programs."""

from __future__ import annotations

import json

import pytest

from anabranch.client.error_responses import ErrorResponse, parse_error_response, to_error
from anabranch.errors import (
    AlreadyExists,
    Busy,
    CommitExpired,
    Corrupt,
    Denied,
    Gone,
    Invalid,
    MergeConflict,
    NoChanges,
    NotFound,
    RangeNotSatisfiable,
    Throttled,
    Unauthenticated,
)


class ReceivedResponse:
    """The parts of a response that are parsed: a status and headers, whose names are in lower
    case.
    """

    def __init__(self, status, **headers):
        self.status = status
        self._headers = {name.replace("_", "-"): value for name, value in headers.items()}

    def header(self, name):
        return self._headers.get(name, "")


def parse(status, body=b"", **headers):
    return parse_error_response(ReceivedResponse(status, **headers), body)


@pytest.mark.parametrize(
    ("status", "error"),
    [(400, Invalid), (401, Unauthenticated), (404, NotFound), (410, Gone), (500, Corrupt)]
    + [(status, Busy) for status in (429, 502, 503, 504, 418)],
)
def test_status_selects_the_error_class(status, error):
    made = to_error("http://x", parse(status, b'{"message": "a text"}'))
    assert type(made) is error
    assert (made.message, made.kind) == ("http://x: a text", error.kind)


def test_headers_give_kind_and_hint():
    headers = {"x_anabranch_kind": "branch_not_found", "x_anabranch_hint": "Look."}
    error = to_error("http://x", parse(404, b'{"message": "no"}', **headers))
    assert (type(error), error.kind, error.hint) == (NotFound, "branch_not_found", "Look.")
    assert type(to_error("u", parse(400, x_anabranch_kind=NoChanges.kind))) is NoChanges


def test_the_header_names_the_class():
    def made(status, name, body=b"{}", **headers):
        return to_error("", parse(status, body, x_anabranch_error=name, **headers))

    taken = made(409, "AlreadyExists", x_anabranch_kind="tag_already_exists")
    assert (type(taken), taken.kind) == (AlreadyExists, "tag_already_exists")
    assert taken.message == "conflict"
    assert type(made(401, "Denied")) is Denied
    expired = made(409, "CommitExpired", b'{"message": "m", "removed": true}')
    assert isinstance(expired, CommitExpired)
    assert expired.removed
    outside = made(416, "RangeNotSatisfiable", content_range="bytes */7")
    assert isinstance(outside, RangeNotSatisfiable)
    assert outside.size == 7
    throttled = made(429, "Throttled", retry_after="9")
    assert isinstance(throttled, Throttled)
    assert throttled.retry_after == 9
    for unknown in ("Mystery", "HINTS", "Any", "__name__", "not a name"):
        assert type(made(404, unknown)) is NotFound


def test_merge_conflict_has_the_paths_of_the_response():
    body = json.dumps({"message": "m", "conflicts": ["a", "b"], "conflict_count": 7}).encode()
    error = to_error("http://x", parse(409, body))
    assert isinstance(error, MergeConflict)
    assert (error.paths, error.count) == (("a", "b"), 7)


def test_merge_conflict_without_a_number_and_with_entries():
    body = {"message": "m", "conflicts": [{"path": "a", "kind": "both_changed"}], "has_more": True}
    error = to_error("http://x", parse(409, json.dumps(body).encode()))
    assert isinstance(error, MergeConflict)
    assert (error.paths, error.count) == (("a",), None)


def test_redirect_is_an_error_that_names_the_other_address():
    response = parse(302, location="https://y/")
    error = to_error("http://x", response)
    assert (type(error), error.kind) == (Invalid, "redirected")
    assert error.message == "http://x: the server redirects to https://y/"


def test_responses_of_other_programs_get_a_message():
    assert "web page" in parse(404, b" <!DOCTYPE html><html>").message
    assert parse(502).message == "the server responded with status 502"
    assert parse(500, b"[1]").document == [1]
    assert parse(409, b'{"reference":""}') == ErrorResponse(409, "conflict", {"reference": ""})
