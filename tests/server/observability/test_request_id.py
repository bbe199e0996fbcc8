"""Request ids."""

from __future__ import annotations

import pytest

from anabranch.server.observability.request_id import RequestIds


def test_ids_are_sent_by_the_client_or_unique():
    ids = RequestIds("p")
    assert ids.of({"x-request-id": "mine"}) == "mine"
    assert len({ids.of({}) for _ in range(100)}) == 100
    assert ids.of({}).startswith("p-")


@pytest.mark.parametrize("given", ["", "a b", "x" * 129, "\xff", "a\tb"])
def test_invalid_ids_are_replaced(given):
    assert RequestIds("p").of({"x-request-id": given}) == "p-1"
