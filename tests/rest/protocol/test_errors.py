"""Statuses and responses of errors."""

from __future__ import annotations

import inspect
import json

import pytest

from anabranch import errors
from anabranch.rest.protocol.errors import STATUS_BY_CLASS, error_response, status_for
from anabranch.versioning.strategies.contract import ContentConflict


def make_error(cls: type[errors.AnabranchError], **fields: object) -> errors.AnabranchError:
    extra = {errors.RangeNotSatisfiable: {"size": 3}, errors.CommitExpired: {"removed": True}}
    return cls("what happened", **extra.get(cls, {}), **fields)


CLASSES = [
    cls
    for _, cls in inspect.getmembers(errors, inspect.isclass)
    if issubclass(cls, errors.AnabranchError) and cls is not errors.AnabranchError
]


@pytest.mark.parametrize("cls", CLASSES)
def test_every_class_has_a_status(cls):
    assert any(ancestor in STATUS_BY_CLASS for ancestor in cls.__mro__)
    response = error_response(make_error(cls))
    assert 400 <= response.status < 600
    assert json.loads(response.body)["message"] == "what happened"
    assert response.body.endswith(b"\n")


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (errors.NotFound("x"), 404),
        (errors.Invalid("x"), 400),
        (errors.NoChanges("x"), 400),
        (errors.DirtyBranch("x"), 400),
        (errors.Unauthenticated("x"), 401),
        (errors.Denied("x", kind="insufficient_permissions"), 401),
        (errors.ProtectedBranch("x"), 403),
        (errors.ReadOnlyRepository("x"), 403),
        (errors.AlreadyExists("x"), 409),
        (errors.MergeConflict("x"), 409),
        (errors.PreconditionFailed("x"), 412),
        (errors.RangeNotSatisfiable("x", size=1), 416),
        (errors.Gone("x"), 410),
        (errors.Truncated("x"), 400),
        (errors.NotSupported("x"), 501),
        (errors.NotSupported("x", kind="unsupported_by_store"), 400),
        (errors.Busy("x"), 503),
        (errors.Busy("x", kind="too_many_attempts"), 429),
        (errors.Corrupt("x"), 500),
        (errors.AnabranchError("x"), 500),
    ],
)
def test_errors_have_the_statuses_of_lakefs(error, status):
    assert status_for(error) == status


def test_error_headers_have_kind_and_hint():
    headers = dict(error_response(errors.Busy("x", kind="k", hint="wait\r\nX-Bad: ü")).headers)
    assert headers == {
        "X-Anabranch-Error": "Busy",
        "X-Anabranch-Kind": "k",
        "X-Anabranch-Hint": "wait??X-Bad: ?",
        "Retry-After": "1",
    }
    headers = dict(error_response(errors.RangeNotSatisfiable("x", size=7)).headers)
    assert headers["Content-Range"] == "bytes */7"


@pytest.mark.parametrize(
    ("count", "fields"),
    [(2, {"conflict_count": 2, "has_more": False}), (None, {"has_more": True})],
)
def test_a_merge_conflict_has_a_number_if_all_conflicts_are_known(count, fields):
    error = errors.MergeConflict("x", paths=["a", "b"], count=count)
    body = json.loads(error_response(error).body)
    assert body == {"conflicts": ["a", "b"], "message": "x", "reference": "", **fields}


def test_invalid_utf8_in_a_message_is_replaced():
    body = error_response(errors.NotFound("path a\udcff")).body
    assert json.loads(body) == {"message": "path a\N{REPLACEMENT CHARACTER}"}


def test_half_a_pair_of_utf_16_in_conflicts_is_replaced():
    conflict = ContentConflict(key={"pointer": "/a"}, base="\ud800", source=["x\udfff"])
    error = errors.MergeConflict("x", conflicts=[{"details": (conflict,)}])
    (found,) = json.loads(error_response(error).body)["conflicts"]
    (details,) = found["details"]
    assert details["base"] == "\N{REPLACEMENT CHARACTER}"
    assert details["source"] == ["x\N{REPLACEMENT CHARACTER}"]
