"""Throttling of failed logins."""

from __future__ import annotations

import base64

import pytest

from anabranch.access.credentials.credentials import KeyPair
from anabranch.access.sessions.login_throttle import (
    LONGEST_LOCK_SECONDS,
    MAX_COUNTED,
    TRUSTED_SECONDS,
    WINDOW_SECONDS,
    LoginThrottle,
)
from anabranch.errors import Throttled, Unauthenticated
from anabranch.model.secret import Secret

HERE, ELSEWHERE = "10.0.0.1", "10.0.0.2"


class Clock:
    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def throttle(clock):
    return LoginThrottle(3, 30.0, clock)


def locked(throttle, key="key", address=HERE):
    """Returns how long a key is locked, 0 if it is not."""
    try:
        throttle.check(key, address)
    except Throttled as error:
        return error.retry_after
    return 0


def test_key_is_locked_for_the_address_only(throttle):
    for _ in range(3):
        assert locked(throttle) == 0
        throttle.failed("key", HERE)
    assert locked(throttle) == 30
    assert locked(throttle, address=ELSEWHERE) == 0
    assert locked(throttle, key="other") == 0


def test_each_lock_is_twice_as_long_up_to_the_longest(throttle, clock):
    lengths = []
    for _ in range(8):
        for _ in range(3):
            throttle.failed("key", HERE)
        lengths.append(locked(throttle))
        clock.now += lengths[-1]
        assert locked(throttle) == 0
    assert lengths == [30, 60, 120, 240, 480, 900, 900, 900]
    assert LONGEST_LOCK_SECONDS == 900


def test_slow_failures_do_not_lock(throttle, clock):
    for _ in range(50):
        throttle.failed("key", HERE)
        throttle.failed("key", HERE)
        clock.now += WINDOW_SECONDS + 1
    assert locked(throttle) == 0


def test_a_key_that_has_succeeded_is_locked_after_a_hundred_times_the_limit(throttle, clock):
    throttle.failed("key", HERE)
    throttle.failed("key", HERE)
    throttle.succeeded("key", HERE)
    for _ in range(299):
        throttle.failed("key", HERE)
        throttle.failed("key", ELSEWHERE)
    assert (locked(throttle), locked(throttle, address=ELSEWHERE) > 0) == (0, True)
    throttle.failed("key", HERE)
    assert locked(throttle) == 30
    clock.now += TRUSTED_SECONDS
    for _ in range(3):
        throttle.failed("key", HERE)
    assert locked(throttle) > 0


def test_counts_are_bounded(throttle):
    for number in range(MAX_COUNTED + 100):
        throttle.failed("key", f"address-{number}")
    assert len(throttle._failures) <= MAX_COUNTED


def test_limit_of_zero_never_locks(clock):
    throttle = LoginThrottle(0, 30.0, clock)
    for _ in range(1000):
        throttle.failed("key", HERE)
    assert locked(throttle) == 0


def test_right_secret_is_refused_while_the_key_is_locked_and_accepted_afterwards(installation):
    pair = KeyPair("AKIAJCHOSENKEYCHOSEQ", Secret("a-secret-of-some-length"))
    installation.setup.run("root", pair)

    def log_in(secret, address=HERE):
        return installation.authenticator.login(pair.access_key_id, secret, address).username

    for _ in range(10):
        with pytest.raises(Unauthenticated):
            log_in("wrong")
    with pytest.raises(Throttled):
        log_in(pair.secret.reveal())
    assert log_in(pair.secret.reveal(), ELSEWHERE) == "root"
    basic = base64.b64encode(f"{pair.access_key_id}:wrong".encode()).decode()
    with pytest.raises(Throttled):
        installation.authenticator.authenticate(f"Basic {basic}", address=HERE)
    installation.now += 31
    assert log_in(pair.secret.reveal()) == "root"
