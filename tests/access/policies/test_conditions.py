"""Conditions of statements: what holds, and that nothing unreadable permits anything."""

from __future__ import annotations

import time

import pytest

from anabranch.access.policies.conditions import RequestContext, evaluate
from anabranch.access.policies.permissions import Action, Permission, object_arn
from anabranch.access.policies.statements import Effect, Statement, allows

NOON = 1_767_268_800.0  # 2026-01-01T12:00:00Z
CONTEXT = RequestContext(source_ip="10.1.2.3", username="ada", time=NOON)
READ = Permission(Action.READ_OBJECT, object_arn("lake", "a"))
EVERYTHING = Statement(Effect.ALLOW, ("*",), ("*",))

HOLDING = [
    {"IpAddress": {"SourceIp": ("10.0.0.0/8",)}},
    {"IpAddress": {"SourceIp": ("2001:db8::/32", "10.1.2.3")}},
    {"NotIpAddress": {"SourceIp": ("192.168.0.0/16", "2001:db8::/32")}},
    {"StringLike": {"SourceIp": ("10.*.3",)}},
    {"StringLike": {"SourceIp": ("10.1.2.?",)}},
    {"StringNotLike": {"SourceIp": ("192.*", "10.1.2.??")}},
    {"StringEquals": {"lakefs:Username": ("bob", "ada")}},
    {"StringNotEquals": {"lakefs:Username": ("ad*",)}},
    {"DateGreaterThan": {"CurrentTime": ("2026-01-01T11:59:59Z",)}},
    {"DateLessThan": {"CurrentTime": ("2026-01-01T14:00:00+01:00",)}},
    {"IpAddress": {"SourceIp": ("10.0.0.0/8",)}, "StringLike": {"lakefs:Username": ("a*",)}},
]
FAILING = [
    {"IpAddress": {"SourceIp": ("10.2.0.0/16",)}},
    {"NotIpAddress": {"SourceIp": ("192.168.0.0/16", "10.0.0.0/8")}},
    {"StringLike": {"SourceIp": ("10x1x2x3",)}},
    {"StringLike": {"SourceIp": ("10.1.2",)}},
    {"StringEquals": {"lakefs:Username": ("a*",)}},
    {"StringNotEquals": {"lakefs:Username": ("ada",)}},
    {"DateGreaterThan": {"CurrentTime": ("2026-01-01T12:00:00Z",)}},
    {"DateLessThan": {"CurrentTime": ("2026-01-01T12:00:00",)}},
    {"IpAddress": {"SourceIp": ("10.0.0.0/8",)}, "StringLike": {"lakefs:Username": ("b*",)}},
]
UNREADABLE = [
    {"NumericEquals": {"SourceIp": ("1",)}},
    {"ipaddress": {"SourceIp": ("10.0.0.0/8",)}},
    {"IpAddress": {"sourceip": ("10.0.0.0/8",)}},
    {"IpAddress": {"SourceIp": ("10.0.0.0/8", "ten")}},
    {"NotIpAddress": {"SourceIp": ("10.0.0.0/33",)}},
    {"StringNotLike": {"Referer": ("x",)}},
    {"StringNotEquals": {"lakefs:Username": ()}},
    {"DateLessThan": {"CurrentTime": ("tomorrow",)}},
    {"DateLessThan": {"SourceIp": ("2030-01-01T00:00:00Z",)}},
    {"IpAddress": {}},
    {"IpAddress": {"SourceIp": ("10.0.0.0/8",)}, "StringLike": {}},
    {"IpAddress": {"SourceIp": ("11.0.0.0/8",)}, "Unknown": {"SourceIp": ("x",)}},
]


def decided(effect, condition, context=CONTEXT):
    conditional = Statement(effect, ("fs:*",), ("*",), condition)
    others = [EVERYTHING] if effect is Effect.DENY else []
    return allows([*others, conditional], READ, "ada", context)


@pytest.mark.parametrize("condition", HOLDING)
def test_condition_that_holds_applies_the_statement(condition):
    assert decided(Effect.ALLOW, condition) is True
    assert decided(Effect.DENY, condition) is False


@pytest.mark.parametrize("condition", FAILING)
def test_condition_that_fails_ignores_the_statement(condition):
    assert decided(Effect.ALLOW, condition) is False
    assert decided(Effect.DENY, condition) is True


@pytest.mark.parametrize("condition", UNREADABLE)
def test_condition_that_cannot_be_evaluated_never_permits(condition):
    assert evaluate(condition, CONTEXT) is None
    assert decided(Effect.ALLOW, condition) is False
    assert decided(Effect.DENY, condition) is False


@pytest.mark.parametrize("condition", HOLDING + FAILING)
def test_condition_on_an_unknown_request_never_permits(condition):
    unknown = RequestContext()
    assert decided(Effect.ALLOW, condition, unknown) is False
    assert decided(Effect.DENY, condition, unknown) is False


def test_mapped_address_matches_networks_of_ipv4():
    mapped = RequestContext(source_ip="::ffff:10.1.2.3")
    assert evaluate({"IpAddress": {"SourceIp": ("10.0.0.0/8",)}}, mapped) is True
    assert evaluate({"NotIpAddress": {"SourceIp": ("10.0.0.0/8",)}}, mapped) is False


def test_pattern_with_many_stars_is_compared_quickly():
    context = RequestContext(username="a" * 2000)
    started = time.thread_time()
    assert evaluate({"StringLike": {"lakefs:Username": ("*a" * 50 + "b",)}}, context) is False
    assert time.thread_time() - started < 10  # trying every way would take years
