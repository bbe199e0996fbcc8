"""Compiled statements, compared with an evaluator written from the meaning of policies."""

from __future__ import annotations

import statistics
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.session.hypothesis_profiles import examples

from anabranch.access.policies.decision import CompiledStatements
from anabranch.access.policies.permissions import ANY, AllBelow, Permission, object_arn
from anabranch.access.policies.resource_patterns import ResourcePatterns
from anabranch.access.policies.statements import Effect, Statement, allows
from tests.support.literal_policies import literally_allows

NAMES = st.lists(st.sampled_from(["a", "b", "/", "*", "?", "${user}"]), max_size=5).map("".join)
TEXTS = st.lists(st.sampled_from(["a", "b", "/", "*", "ada"]), max_size=5).map("".join)
HEADS = st.sampled_from(
    ["arn:lakefs:fs:::", "arn:lakefs:fs:eu::", "arn:lakefs:auth:::", "arn:*:fs:::", "arn:lakefs:*:"]
)
PATTERNS = st.one_of(st.just("*"), st.builds(lambda head, name: head + name, HEADS, NAMES), NAMES)
ACTIONS = st.sampled_from(["*", "fs:*", "fs:Read*", "fs:Read?", "fs:ReadA", "auth:*", "fs:read*"])
STATEMENTS = st.builds(
    Statement,
    st.sampled_from(Effect),
    st.lists(ACTIONS, max_size=3).map(tuple),
    st.lists(PATTERNS, max_size=3).map(tuple),
    st.sampled_from([{}, {}, {}, {"Unknown": {"SourceIp": ("x",)}}]),
)
RESOURCES = st.builds(
    lambda head, text: head + text,
    st.sampled_from(["arn:lakefs:fs:::", "arn:lakefs:auth:::"]),
    TEXTS,
)
ASKED = st.sampled_from(["fs:ReadA", "fs:ReadB", "fs:Write", "auth:X"])


@settings(max_examples=examples(500), deadline=None)
@given(st.lists(STATEMENTS, max_size=6), ASKED, RESOURCES, st.sampled_from(["ada", "a*", "?"]))
def test_decision_is_that_of_a_literal_evaluator(statements, action, resource, username):
    compiled = CompiledStatements(statements, username)
    expected = literally_allows(statements, action, resource, username)
    assert compiled.allow(Permission(action, resource)) is expected
    assert allows(statements, Permission(action, resource), username) is expected


@settings(deadline=None)
@given(
    st.lists(STATEMENTS, max_size=6),
    ASKED,
    RESOURCES,
    st.booleans(),
    st.sampled_from(["ada", "a*", "?"]),
)
def test_decisions_on_many_resources_are_those_of_the_statements(
    statements, action, resource, below, username
):
    permission = Permission(action, AllBelow(resource) if below else ANY)
    compiled = CompiledStatements(statements, username)
    assert compiled.allow(permission) is allows(statements, permission, username)


@pytest.mark.sample(3)
@pytest.mark.parametrize("below", [False, True])
@pytest.mark.parametrize("pattern", ["raw/*", "raw/*/part-*", "raw/*/?/*"])
@pytest.mark.parametrize("lake", ["lake-48", "lake-7", "none"])
def test_decision_with_fifty_policies_takes_less_than_a_thousand_additions(pattern, below, lake):
    statements = [
        Statement(Effect.ALLOW, ("fs:Read*", "fs:List*"), (object_arn(f"lake-{number}", pattern),))
        for number in range(49)
    ]
    secret = object_arn("lake-1", "raw/secret/*/?")
    statements.append(Statement(Effect.DENY, ("fs:*",), (secret,)))
    compiled = CompiledStatements(statements, "ada")
    resource = object_arn(lake, "raw/2026/part-1")
    wanted = Permission("fs:ReadObject", AllBelow(resource) if below else resource)
    assert compiled.allow(wanted) is allows(statements, wanted, "ada")
    decisions, additions = [], []  # in turns: the speed of a machine changes
    for _ in range(200):
        started = time.thread_time_ns()
        for _ in range(20):
            compiled.allow(wanted)
        decided = time.thread_time_ns()
        total = 0
        for number in range(1000):
            total += number
        additions.append((time.thread_time_ns() - decided) / 1000)
        decisions.append((decided - started) / 20)
    assert statistics.median(decisions) < 1000 * statistics.median(additions)


def test_statements_are_prepared_once_for_all_threads():
    names = tuple(f"arn:lakefs:fs:::repository/?{at}*prepared" for at in range(1000))
    compiled = CompiledStatements([Statement(Effect.ALLOW, ("fs:*",), names)], "ada")
    together, prepared = threading.Barrier(4), []

    def count(frame, event, _):
        if event == "call" and frame.f_code is ResourcePatterns.__init__.__code__:
            prepared.append(frame)

    def decide(at):
        together.wait()
        name = f"arn:lakefs:fs:::repository/x{at}-prepared"
        return compiled.allow(Permission("fs:ReadObject", name))

    threading.setprofile(count)
    try:
        with ThreadPoolExecutor(4) as pool:
            assert list(pool.map(decide, range(4))) == [True] * 4
    finally:
        threading.setprofile(None)
    assert len(prepared) == 2  # what is allowed, and what is denied


class SlowCondition(dict):
    """A condition that is not compared before a test allows it."""

    asked, allowed = threading.Event(), threading.Event()

    def __len__(self):
        self.asked.set()
        self.allowed.wait(60)
        return 0


def test_no_user_waits_for_what_is_prepared_for_another():
    slow = CompiledStatements([Statement(Effect.ALLOW, ("*",), ("*",), SlowCondition())], "ada")
    with ThreadPoolExecutor(2) as pool:
        try:
            first = pool.submit(lambda: slow.conditional)
            assert SlowCondition.asked.wait(60)
            other = CompiledStatements([Statement(Effect.ALLOW, ("*",), ("*",))], "bob")
            second = pool.submit(lambda: (other.conditional, other.unlimited))
            assert second.result(30) == (False, True)
            assert not first.done()
        finally:
            SlowCondition.allowed.set()
    assert slow.conditional is False
