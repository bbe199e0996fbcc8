"""Pages of listings leave out what an actor may not see, and are given up where that takes long."""

from __future__ import annotations

import pytest

from anabranch.access.actors.actor import Actor
from anabranch.access.actors.visible_items import visible_items
from anabranch.access.policies.permissions import Action, Permission, branch_arn
from anabranch.access.policies.statements import Effect, Statement
from anabranch.brevity import TakesLong, brief
from anabranch.model.page import Page

NAMES = [f"b{number:03}" for number in range(100)]


def page_of(*patterns):
    statements = [
        Statement(Effect.ALLOW, ("fs:ReadBranch",), (branch_arn("sea", each),)) for each in patterns
    ]
    page = visible_items(
        lambda **_: Page(NAMES),
        Actor(username="ann", statements=tuple(statements)),
        str,
        lambda name: Permission(Action.READ_BRANCH, branch_arn("sea", name)),
        after="",
        amount=100,
    )
    return page.items


def test_thousands_of_statements_are_not_compared_where_that_must_be_brief():
    many = [f"x*{number}*y" for number in range(1_000)]
    assert page_of(*many, "b09*") == NAMES[90:]
    with brief(), pytest.raises(TakesLong):
        page_of(*many, "b09*")
