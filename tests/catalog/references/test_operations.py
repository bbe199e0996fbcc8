"""The operation log shows users the changes of references that they may read, and no others."""

from __future__ import annotations

import pytest

import anabranch
from anabranch.access.actors.actor import Actor
from anabranch.access.policies.statements import ALLOW_ALL, Effect, Statement
from anabranch.errors import NotFound


@pytest.fixture
def lake(tmp_path):
    with anabranch.open(tmp_path, committer="ada") as lake:
        lake.repositories.create("sea", "local://sea")
        for name in ("open", "secret", "open2"):
            lake.branches.create("sea", name, "main")
        lake.tags.create("sea", "secret-tag", "main")
        yield lake


def actor(*hidden):
    denied = Statement(
        Effect.DENY,
        ("fs:ReadBranch", "fs:ReadTag"),
        tuple(f"arn:lakefs:fs:::repository/sea/{each}" for each in hidden),
    )
    return Actor(username="jane", statements=[ALLOW_ALL, denied])


def names(page):
    return [change.name for each in page.items for change in each.changes]


def test_changes_of_hidden_references_are_left_out_and_pages_are_full(lake):
    jane = actor("branch/secret", "tag/secret-tag")
    everything = lake.operations.list("sea", amount=10)
    assert names(everything) == ["secret-tag", "open2", "secret", "open", "main"]
    assert names(lake.operations.list("sea", amount=10, actor=jane)) == ["open2", "open", "main"]
    page = lake.operations.list("sea", amount=2, actor=jane)
    assert (names(page), page.has_more) == (["open2", "open"], True)
    rest = lake.operations.list("sea", amount=2, after=page.next_offset, actor=jane)
    assert (names(rest), rest.has_more) == (["main"], False)


def test_an_operation_on_hidden_references_alone_is_not_found(lake):
    secret = lake.operations.list("sea", amount=10).items[2]
    assert lake.operations.get("sea", secret.id).changes[0].name == "secret"
    with pytest.raises(NotFound):
        lake.operations.get("sea", secret.id, actor("branch/secret"))
    other = lake.operations.get("sea", secret.id, actor("branch/open"))
    assert other == secret


def test_an_unknown_repository_is_not_found(lake):
    with pytest.raises(NotFound):
        lake.operations.list("nothing", amount=1)
