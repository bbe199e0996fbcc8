"""What a confinement lets through, by action, path and reference."""

from __future__ import annotations

import pytest

from anabranch.access.actors.actor import Actor
from anabranch.access.actors.authorize import authorize
from anabranch.access.actors.confined_actor import ConfinedActor
from anabranch.access.actors.confinement import Confinement
from anabranch.access.actors.readable_paths import ReadablePaths
from anabranch.access.policies.permissions import (
    ANY,
    Action,
    AllBelow,
    Permission,
    branch_arn,
    image_arn,
    namespace_arn,
    object_arn,
    repository_arn,
    tag_arn,
)
from anabranch.access.policies.policies import Policy
from anabranch.access.policies.statements import Effect, Statement
from anabranch.errors import Denied

COMMIT = "5f" * 32
REACH = Confinement(
    repository="sea",
    branch="ws-1",
    source_commit=COMMIT,
    readable=("in/**", "out/**"),
    writable=("out/**", "*.csv"),
    run_id="run-1",
    expires_at=9,
    access_key_id="AKIAWSEA1",
)
ADMINISTRATOR = Actor.administrator("ann")


def admitted(reach=REACH, creator=ADMINISTRATOR):
    return ConfinedActor(creator, reach).admit("sea", ["ws-1"])


def write(path, branch="ws-1", repository="sea", action=Action.WRITE_OBJECT):
    return Permission(action, object_arn(repository, path), branch=branch)


def read(path, repository="sea"):
    return Permission(Action.READ_OBJECT, object_arn(repository, path))


@pytest.mark.parametrize(
    ("reference", "reached"),
    [
        ("ws-1", True),
        ("ws-1@", True),
        ("ws-1$", True),
        (COMMIT, True),
        ("main", False),
        ("ws-12", False),
        ("ws-", False),
        ("", False),
        ("WS-1", False),
        ("ws-1~1", False),
        ("ws-1^", False),
        ("ws-1@{yesterday}", False),
        ("ws-1@{op:1}", False),
        ("ws-1@$", False),
        ("ws-1 ", False),
        (f"{COMMIT}~1", False),
        (f"{COMMIT}@", False),
        (COMMIT[:12], False),
        (COMMIT.upper(), False),
        ("ws-1/../main", False),
    ],
)
def test_references_within_reach_are_the_branch_and_its_source(reference, reached):
    assert REACH.reaches("sea", reference) is reached
    assert not REACH.reaches("lake", reference)


@pytest.mark.parametrize(
    ("path", "written"),
    [
        ("out/a", True),
        ("out/deep/a", True),
        ("out/", True),
        ("a.csv", True),
        ("out", False),
        ("Out/a", False),
        ("in/a", False),
        ("deep/a.csv", False),
        ("/out/a", False),
        ("//out/a", False),
        ("./out/a", False),
        ("out/../in/a", False),
        ("out/./a", False),
        ("out/..", False),
        ("out%2Fa", False),
        ("o\u0075\u0308t/a", False),
        ("_lakefs_actions/a.csv", False),
        ("_lakefs_merge.yaml", False),
        ("out\n/a", False),
        ("", False),
    ],
)
def test_writable_paths_match_a_pattern(path, written):
    actor = admitted()
    for action in (Action.WRITE_OBJECT, Action.DELETE_OBJECT):
        assert actor.may(write(path, action=action)) is written


def test_action_files_and_merge_rules_are_never_writable():
    actor = admitted(Confinement(**fields(REACH) | {"writable": ("**",)}))
    assert actor.may(write("a"))
    for path in ("_lakefs_actions/a.yaml", "_lakefs_merge.yaml", "_lakefs"):
        assert not actor.may(write(path))
    for prefix in ("", "_", "_lake", "_lakefs_actions/"):
        assert not actor.may(write(prefix)._replace(resource=below(prefix)))
    assert actor.may(write("")._replace(resource=below("out/")))


def fields(reach):
    return {name: getattr(reach, name) for name in Confinement.__struct_fields__}


def below(prefix, repository="sea"):
    return AllBelow(object_arn(repository, prefix))


@pytest.mark.parametrize("branch", ["main", "", None, "ws-1@", "ws-1~0", "ws-12", "WS-1"])
def test_writes_are_on_the_branch_alone(branch):
    assert not admitted().may(write("out/a", branch=branch))


def test_paths_of_another_repository_are_out_of_reach():
    actor = admitted()
    for permission in (
        read("in/a", "lake"),
        write("out/a", repository="lake"),
        read("in/a", "sea-2"),
        Permission(Action.READ_OBJECT, below("in/", "lake")),
        Permission(Action.LIST_OBJECTS, repository_arn("lake")),
        Permission(Action.READ_BRANCH, branch_arn("lake", "ws-1")),
        Permission(Action.CREATE_COMMIT, branch_arn("lake", "ws-1")),
    ):
        assert not actor.may(permission)


def test_readable_paths_match_a_pattern():
    actor = admitted()
    assert actor.may(read("in/a"))
    assert not actor.may(read("secret/a"))
    assert actor.may(Permission(Action.READ_OBJECT, below("in/")))
    assert actor.may(Permission(Action.READ_OBJECT, below("in/deep/")))
    for prefix in ("", "i", "secret/"):
        assert not actor.may(Permission(Action.READ_OBJECT, below(prefix)))
    everything = admitted(Confinement(**fields(REACH) | {"readable": ()}))
    assert everything.may(Permission(Action.READ_OBJECT, below("")))


def test_listings_look_only_where_something_is_readable():
    paths = ReadablePaths(admitted(), "sea")
    assert paths.roots("") == ["in/", "out/"]
    assert "in/a" in paths
    assert "secret/a" not in paths


_SAFE = {
    Action.READ_REPOSITORY,
    Action.LIST_REPOSITORIES,
    Action.LIST_OBJECTS,
    Action.LIST_BRANCHES,
    Action.LIST_COMMITS,
    Action.READ_COMMIT,
    Action.WRITE_PULL_REQUEST,
    Action.READ_BRANCH,
    Action.CREATE_COMMIT,
    Action.REVERT_BRANCH,
    Action.DELETE_BRANCH,
    Action.READ_OBJECT,
    Action.WRITE_OBJECT,
    Action.DELETE_OBJECT,
}


@pytest.mark.parametrize("action", sorted(set(Action) - _SAFE))
def test_all_other_actions_are_refused_on_everything(action):
    actor = admitted()
    for resource in (
        ANY,
        repository_arn("sea"),
        branch_arn("sea", "ws-1"),
        object_arn("sea", "out/a"),
        tag_arn("sea", "ws-1"),
        image_arn("sea"),
        namespace_arn("local://sea"),
        "arn:lakefs:auth:::user/ann",
    ):
        assert not actor.may(Permission(action, resource, branch="ws-1"))


@pytest.mark.parametrize("action", sorted(_SAFE - {Action.LIST_REPOSITORIES}))
def test_no_action_is_allowed_on_anything_else(action):
    actor = admitted()
    for resource in (ANY, branch_arn("sea", "main"), object_arn("sea", "secret/a"), "arn:x"):
        assert not actor.may(Permission(action, resource, branch="ws-1"))


def test_nothing_is_allowed_before_an_operation_is_admitted():
    actor = ConfinedActor(ADMINISTRATOR, REACH)
    for permission in (read("in/a"), write("out/a")):
        assert not actor.may(permission)
        with pytest.raises(Denied):
            authorize(actor, [permission])
    assert not actor.in_context("10.0.0.1", 1.0).may(read("in/a"))


def test_an_operation_at_another_reference_is_not_admitted():
    actor = ConfinedActor(ADMINISTRATOR, REACH)
    for reference in ("main", f"{COMMIT}~1"):
        with pytest.raises(Denied, match="insufficient"):
            actor.admit("sea", ["ws-1", reference])
    with pytest.raises(Denied):
        actor.admit("lake", ["ws-1"])


def test_the_creator_may_less_than_the_workspace():
    statement = Statement(Effect.ALLOW, ("fs:ReadObject",), (object_arn("sea", "in/open/*"),))
    creator = Actor(
        username="ann", policies=(Policy(id="P", created_at=0, statements=(statement,)),)
    )
    actor = admitted(creator=creator)
    assert actor.may(read("in/open/a"))
    assert not actor.may(read("in/a"))
    assert not actor.may(write("out/a"))


def test_the_actor_of_a_request_stays_confined_and_opens_no_session():
    actor = ConfinedActor(ADMINISTRATOR, REACH)
    for each in (actor.in_context("", 1.0, lambda *_: None), actor.in_session(actor.binding)):
        assert isinstance(each, ConfinedActor)
        assert not each.opens_sessions
        assert not each.is_unlimited
    assert actor.as_caller("putObject", "r").workspace == "ws-1"


def test_an_explanation_names_the_workspace():
    explained = admitted().explain(read("secret/a"))
    assert (explained.allowed, explained.policy) == (False, "workspace ws-1")
    assert admitted().explain(read("in/a")).allowed
