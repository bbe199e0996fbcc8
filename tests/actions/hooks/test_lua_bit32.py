"""`bit32` in Lua 5.4 returns what that of Lua 5.2 returns."""

import lupa.lua52
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.hooks.hook_runs import hook_context

from anabranch.actions.hooks.lua.libraries.registry import Libraries
from anabranch.actions.hooks.lua.sandbox import Sandbox
from anabranch.errors import HookFailed

NUMBERS = st.integers(-(2**40), 2**40)
DISTANCES = st.integers(-40, 40)
CALLS = st.one_of(
    st.tuples(st.sampled_from(["band", "bor", "bxor", "btest"]), st.lists(NUMBERS, max_size=4)),
    st.tuples(st.just("bnot"), st.tuples(NUMBERS)),
    st.tuples(
        st.sampled_from(["lshift", "rshift", "arshift", "lrotate", "rrotate"]),
        st.tuples(NUMBERS, DISTANCES),
    ),
    st.tuples(st.just("extract"), st.tuples(NUMBERS, st.integers(0, 15), st.integers(1, 17))),
    st.tuples(
        st.just("replace"), st.tuples(NUMBERS, NUMBERS, st.integers(0, 15), st.integers(1, 17))
    ),
)


@pytest.fixture(scope="module")
def ours():
    written = []
    sandbox = Sandbox(written.append, Libraries(hook_context()).open, lambda: None)

    def call(expression):
        written.clear()
        sandbox.run(f"print({expression})".encode(), "script")
        return written[0].strip()

    return call


@given(CALLS)
def test_results_are_those_of_lua_5_2(ours, call):
    name, arguments = call
    expression = f"bit32.{name}({', '.join(map(str, arguments))})"
    theirs = lupa.lua52.LuaRuntime().eval(expression)
    theirs = str(theirs).lower() if isinstance(theirs, bool) else str(int(theirs))
    assert ours(expression) == theirs


@pytest.mark.parametrize("call", ["extract(1, 32)", "extract(1, 31, 2)", "replace(1, 1, -1)"])
def test_bits_that_are_none_are_errors(ours, call):
    with pytest.raises(HookFailed, match=r"^script:1: trying to access non-existent bits"):
        ours(f"bit32.{call}")


def test_the_library_can_be_required(ours):
    assert ours("require('bit32').band(7, 2.0)") == "2"
