"""How a request is executed: as declared, if the stores and the body allow it."""

from __future__ import annotations

import itertools

import pytest

from anabranch.http.execution import BodyKind, Execution
from anabranch.rest.routes import ALL_OPERATIONS
from anabranch.s3.table import OPERATIONS as S3_OPERATIONS
from anabranch.server.execution.policy import (
    MAX_SMALL_BODY,
    StoreCapabilities,
    asks_for_long_page,
    is_tried_inline,
    may_name_far_ancestor,
    resolve,
)

INLINE, BATCHED, POOLED, STREAMED, BRIEF_READ, BRIEF_CHANGE = Execution
NONE, WHOLE, STREAM = BodyKind
HERE = StoreCapabilities(local_keyvalue=True, local_blocks=True)
DATABASE_ELSEWHERE = StoreCapabilities(local_keyvalue=False, local_blocks=True)
OBJECTS_ELSEWHERE = StoreCapabilities(local_keyvalue=True, local_blocks=False)
ALL_ELSEWHERE = StoreCapabilities(local_keyvalue=False, local_blocks=False)
PLACES = [HERE, DATABASE_ELSEWHERE, OBJECTS_ELSEWHERE, ALL_ELSEWHERE]
LARGE = MAX_SMALL_BODY + 1
DECLARED = {
    (operation.execution, kind)
    for operation in (*ALL_OPERATIONS, *S3_OPERATIONS)
    for kind in [getattr(operation, "body_kind", operation.body)]
}


@pytest.mark.parametrize(
    ("declared", "body", "length", "executed"),
    [
        (INLINE, NONE, 0, [INLINE, BATCHED, POOLED, POOLED]),
        (INLINE, NONE, LARGE, [INLINE, POOLED, POOLED, POOLED]),
        (BATCHED, NONE, 0, [BATCHED, BATCHED, POOLED, POOLED]),
        (BATCHED, WHOLE, MAX_SMALL_BODY, [BATCHED, BATCHED, POOLED, POOLED]),
        (BATCHED, WHOLE, LARGE, [POOLED] * 4),
        (BATCHED, STREAM, MAX_SMALL_BODY, [BATCHED, BATCHED, POOLED, POOLED]),
        (BATCHED, STREAM, LARGE, [STREAMED] * 4),
        (BATCHED, STREAM, None, [STREAMED] * 4),
        (STREAMED, STREAM, 0, [POOLED] * 4),
        (STREAMED, STREAM, LARGE, [STREAMED] * 4),
        (POOLED, WHOLE, 0, [POOLED] * 4),
        (POOLED, WHOLE, None, [POOLED] * 4),
        (BRIEF_READ, NONE, 0, [INLINE, POOLED, POOLED, POOLED]),
        (BRIEF_CHANGE, NONE, 0, [BATCHED, POOLED, POOLED, POOLED]),
        (BRIEF_CHANGE, WHOLE, MAX_SMALL_BODY, [BATCHED, POOLED, POOLED, POOLED]),
        (BRIEF_CHANGE, WHOLE, LARGE, [POOLED] * 4),
    ],
)
def test_the_declared_execution_is_limited_by_stores_and_body(declared, body, length, executed):
    assert [resolve(declared, body, length, stores) for stores in PLACES] == executed


@pytest.mark.parametrize(
    ("declared", "body", "length", "executed"),
    [
        (INLINE, NONE, 0, POOLED),
        (BATCHED, WHOLE, 10, POOLED),
        (BATCHED, STREAM, 10, POOLED),
        (BATCHED, STREAM, LARGE, STREAMED),
        (STREAMED, STREAM, LARGE, STREAMED),
        (POOLED, NONE, 0, POOLED),
        (BRIEF_READ, NONE, 0, POOLED),
        (BRIEF_CHANGE, WHOLE, 10, POOLED),
    ],
)
def test_what_may_take_long_is_pooled_everywhere(declared, body, length, executed):
    assert {resolve(declared, body, length, stores, is_long=True) for stores in PLACES} == {
        executed
    }


@pytest.mark.parametrize(
    ("path", "query", "is_far"),
    [
        ("/repositories/sea/refs/main", "", False),
        ("/repositories/sea/refs/main~3", "", False),
        ("/repositories/sea/refs/main~99^2~", "", False),
        ("/repositories/sea/refs/main%7E12/objects", "path=a%20b", False),
        ("/repositories/sea/refs/main~100", "", True),
        ("/repositories/sea/refs/main%7E90000", "", True),
        ("/repositories/sea/refs/main%7e90000", "", True),
        ("/repositories/sea/refs/main~000000000000000001", "", True),
        ("/repositories/sea/refs/main" + "^" * 40, "", True),
        ("/repositories/sea/refs/main" + "%5E1" * 40, "", True),
        ("/repositories/sea/refs/main" + "~1^2" * 20, "", True),
        ("/repositories/sea/refs/main" + "~99" * 8, "", False),
        ("/sea/main~12345/a", "", True),
        ("/repositories/sea/refs/main/commits", "after=main~5000", True),
        ("/repositories/sea/refs/main/commits", "after=main%7E5000", True),
    ],
)
def test_addresses_that_may_name_a_far_ancestor_are_recognized(path, query, is_far):
    assert may_name_far_ancestor(path, query) is is_far


@pytest.mark.parametrize(("declared", "body"), [(BRIEF_READ, NONE), (BRIEF_CHANGE, WHOLE)])
def test_what_may_begin_twice_is_pooled_with_an_audit_log(declared, body):
    for stores in PLACES:
        assert resolve(declared, body, 0, stores._replace(may_begin_twice=False)) is POOLED


@pytest.mark.parametrize(
    ("query", "is_long"),
    [
        ("", False),
        ("amount=100", False),
        ("amount=100&after=a", False),
        ("amount=-1", False),
        ("amount=99", False),
        ("amount=101", True),
        ("after=a&amount=1000", True),
        ("amount=0999", True),
        ("counted_amount=500", False),
    ],
)
def test_long_pages_are_recognized(query, is_long):
    assert asks_for_long_page(query) is is_long


COMMIT = "0123456789abcdef" * 4


@pytest.mark.parametrize(
    ("path", "is_tried"),
    [
        (f"/api/v1/repositories/sea/refs/{COMMIT}/objects/stat", True),
        (f"/api/v1/repositories/sea/refs/{COMMIT}", True),
        (f"/sea/{COMMIT}/a", True),
        ("/api/v1/repositories/sea/refs/main/objects/stat", False),
        (f"/api/v1/repositories/sea/refs/{COMMIT}~1/objects/stat", False),
        (f"/api/v1/repositories/sea/refs/{COMMIT[1:]}/objects/stat", False),
        (f"/api/v1/repositories/sea/refs/{COMMIT}0/objects/stat", False),
    ],
)
def test_reads_at_a_commit_are_tried_without_waiting_where_the_database_is_elsewhere(
    path, is_tried
):
    assert is_tried_inline(INLINE, BATCHED, path, DATABASE_ELSEWHERE) is is_tried
    audited = DATABASE_ELSEWHERE._replace(may_begin_twice=False)
    assert not is_tried_inline(INLINE, BATCHED, path, audited)
    for declared, resolved in itertools.product(Execution, repeat=2):
        if (declared, resolved) != (INLINE, BATCHED):
            assert not is_tried_inline(declared, resolved, path, DATABASE_ELSEWHERE)


def test_the_operations_of_both_gateways_declare_each_execution():
    assert {execution for execution, _ in DECLARED} == set(Execution)


@pytest.mark.parametrize("length", [0, 1, MAX_SMALL_BODY, LARGE, None])
def test_network_calls_never_run_on_the_event_loop_or_the_batch_thread(length):
    for (declared, kind), stores in itertools.product(DECLARED, PLACES):
        executed = resolve(declared, kind, length, stores)
        assert executed is not INLINE or stores.local
        assert executed is not BATCHED or stores.local_blocks
        if length is None or length > MAX_SMALL_BODY:
            assert executed is not BATCHED
            assert executed is STREAMED or kind is not STREAM
