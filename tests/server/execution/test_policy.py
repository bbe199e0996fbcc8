"""How a request is executed: as declared, if the stores and the body allow it."""

from __future__ import annotations

import itertools

import pytest

from anabranch.http.execution import BodyKind, Execution
from anabranch.rest.gateway import ALL_OPERATIONS
from anabranch.s3.table import OPERATIONS as S3_OPERATIONS
from anabranch.server.execution.policy import MAX_SMALL_BODY, StoreCapabilities, resolve

INLINE, BATCHED, POOLED, STREAMED = Execution
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
    ],
)
def test_the_declared_execution_is_limited_by_stores_and_body(declared, body, length, executed):
    assert [resolve(declared, body, length, stores) for stores in PLACES] == executed


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
