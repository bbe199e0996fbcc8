"""The names of requests."""

from __future__ import annotations

import pytest

from anabranch.server.observability.request_id import RequestIds


def test_names_are_the_clients_or_ours_and_never_the_same():
    ids = RequestIds("p")
    assert ids.of({"x-request-id": "mine"}) == "mine"
    assert len({ids.of({}) for _ in range(100)}) == 100
    assert ids.of({}).startswith("p-")


@pytest.mark.parametrize("given", ["", "a b", "x" * 129, "\xff", "a\tb"])
def test_what_is_unfit_is_replaced(given):
    assert RequestIds("p").of({"x-request-id": given}) == "p-1"
