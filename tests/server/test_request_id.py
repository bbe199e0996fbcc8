"""The names of requests."""

from __future__ import annotations

import pytest

from anabranch.server.request_id import RequestIds


def test_names_are_the_clients_or_ours_and_never_the_same():
    ids = RequestIds("p")
    assert ids.of({b"x-request-id": b"mine"}) == b"mine"
    assert len({ids.of({}) for _ in range(100)}) == 100
    assert ids.of({}).startswith(b"p-")


@pytest.mark.parametrize("given", [b"", b"a b", b"x" * 129, b"\xff", b"a\tb"])
def test_what_is_unfit_is_replaced(given):
    assert RequestIds("p").of({b"x-request-id": given}) == b"p-1"
