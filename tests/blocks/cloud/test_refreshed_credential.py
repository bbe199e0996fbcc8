"""Credentials of a library, cached between requests."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from anabranch.blocks.cloud.refreshed_credential import RefreshedCredential


class Library:
    """Returns numbers in place of credentials; tests can make `fetch` wait or fail."""

    def __init__(self):
        self.fetched = 0
        self.failure = None
        self.entered = threading.Event()
        self.may_return = threading.Event()
        self.may_return.set()

    def fetch(self):
        self.fetched += 1
        self.entered.set()
        assert self.may_return.wait(30)
        if self.failure is not None:
            raise self.failure
        return self.fetched


@pytest.fixture
def library():
    return Library()


def test_credentials_are_fetched_once_per_interval(library):
    credential = RefreshedCredential(library.fetch, check_interval=3600)
    assert [credential(), credential(), credential()] == [1, 1, 1]
    always = RefreshedCredential(library.fetch, check_interval=0)
    assert [always(), always(), always()] == [2, 3, 4]


def test_threads_that_need_the_first_credential_share_one_fetch(library):
    library.may_return.clear()
    credential = RefreshedCredential(library.fetch, check_interval=3600)
    with ThreadPoolExecutor(8) as pool:
        waiting = [pool.submit(credential) for _ in range(8)]
        assert library.entered.wait(30)
        library.may_return.set()
        assert {each.result(30) for each in waiting} == {1}


def test_a_slow_refresh_delays_no_other_thread(library):
    credential = RefreshedCredential(library.fetch, check_interval=0)
    assert credential() == 1
    library.entered.clear()
    library.may_return.clear()
    with ThreadPoolExecutor(1) as pool:
        refresh = pool.submit(credential)
        assert library.entered.wait(30)
        assert credential() == 1
        library.may_return.set()
        assert refresh.result(30) == 2
    assert library.fetched == 2


def test_an_error_is_raised_and_not_cached(library):
    credential = RefreshedCredential(library.fetch, check_interval=3600)
    library.failure = ValueError("silent")
    for _ in range(2):
        with pytest.raises(ValueError, match="silent"):
            credential()
    library.failure = None
    assert credential() == 3
