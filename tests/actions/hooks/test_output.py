"""The output of hooks: its limit, and secrets that must not be in it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.actions.hooks.output import HookOutput

CUT = "\n[the output is longer than {} bytes; the rest is left out]\n"


def written(pieces, limit=1000, secrets=()):
    output = HookOutput(limit)
    for piece in pieces:
        output.write(piece)
    for secret in secrets:
        output.conceal(secret)
    return output.text()


@pytest.mark.parametrize(
    ("pieces", "limit", "kept"),
    [
        (["ab", "c"], 3, None),
        (["ab", "cd"], 3, "abc"),
        (["abcd", "e"], 3, "abc"),
        (["aé"], 2, "a"),
        (["", "a"], 0, ""),
    ],
)
def test_bytes_beyond_the_limit_are_left_out(pieces, limit, kept):
    whole = "".join(pieces)
    assert written(pieces, limit) == (whole if kept is None else kept + CUT.format(limit))


def test_a_secret_in_several_pieces_is_left_out():
    assert written(["the to", "ken is", " here"], secrets=["token"]) == "the *** is here"


def test_a_secret_that_contains_another_is_left_out_whole():
    assert written(["password1 password"], secrets=["password", "password1"]) == "*** ***"


def test_an_empty_secret_hides_nothing():
    assert written(["text"], secrets=[""]) == "text"


@given(
    st.text("abx", min_size=1, max_size=6),
    st.text("abx", max_size=40),
    st.integers(0, 40),
)
def test_no_secret_and_no_beginning_of_one_is_left_at_the_cut(secret, text, limit):
    shown = written([text], limit, [secret]).partition("\n")[0]
    assert secret not in shown
    if limit < len(text):
        assert not any(shown.endswith(secret[:length]) for length in range(1, len(secret)))


def test_text_that_is_no_unicode_is_replaced():
    assert written(["a\udcff"]) == "a?"
