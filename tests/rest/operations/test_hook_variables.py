"""Which action files may use variables of the server's environment."""

import pytest
from support.hooks.hook_installation import hook_installation

from anabranch.errors import PreconditionFailed
from anabranch.model.caller import acting_as

VARIABLE = "{value: '{{ ENV.LAKEFSACTION_VALUE }}'}"
SHOW = "print(args.value:reverse())"


@pytest.fixture
def with_variables(tmp_path, monkeypatch):
    """An installation whose action files on `main` and `release-*` may use variables."""
    monkeypatch.setenv("LAKEFSACTION_VALUE", "drawer")
    settings = {"ANABRANCH_ACTIONS_ENV_BRANCHES": "sea/main,sea/release-*,land/*"}
    with hook_installation(tmp_path / "server", settings) as opened, acting_as(opened.root):
        yield opened


def refused(action):
    with pytest.raises(PreconditionFailed) as caught:
        action()
    return caught.value.message


def test_an_action_file_on_a_named_branch_may_use_variables(with_variables):
    with_variables.act(SHOW, "post-commit", args=VARIABLE)
    assert with_variables.output("post-commit") == "reward\n"


def test_an_action_file_that_a_change_brings_may_not_use_variables_before_it(with_variables):
    lake = with_variables.lake
    lake.branches.create("sea", "dev", "main")
    with_variables.act(SHOW, "pre-commit", args=VARIABLE, commit=False)
    reason = "_lakefs_actions/acts.yaml is not on the branch main before this change"
    assert reason in refused(lambda: with_variables.commit("sea", "main"))
    lake.branches.reset("sea", "main", "reset")
    with_variables.act(SHOW, "pre-merge", branch="dev", args=VARIABLE)
    assert reason in refused(lambda: lake.refs.merge("sea", "dev", "main", committer="root"))


@pytest.mark.parametrize("branch", ["dev", "main2", "my-release-1"])
def test_an_action_file_on_another_branch_may_not_use_variables(with_variables, branch):
    with_variables.lake.branches.create("sea", branch, "main")
    with_variables.act(SHOW, "pre-commit", branch=branch, args=VARIABLE, commit=False)
    with_variables.put("sea", branch, "a", "a")
    reason = f"do not let it use variables of the environment: it is on the branch {branch} of sea"
    assert reason in refused(lambda: with_variables.commit("sea", branch))


def test_events_of_other_branches_do_not_give_variables_to_a_copy(with_variables):
    lake = with_variables.lake
    lake.branches.create("sea", "dev", "main")
    with_variables.act(SHOW, "pre-create-branch", "pre-create-tag", branch="dev", args=VARIABLE)
    for create in (
        lambda: lake.branches.create("sea", "release-9", "dev"),
        lambda: lake.branches.create("sea", "release-9", lake.branches.get("sea", "dev").commit_id),
        lambda: lake.tags.create("sea", "main-1", "dev"),
        lambda: lake.actions.trigger("sea", "dev", event="pre-create-tag", branch="main"),
    ):
        try:
            outcome = create()
        except PreconditionFailed as error:
            failures = [error.message]
        else:
            failures = outcome.failures
        assert any("do not let it use variables of the environment" in each for each in failures)


def test_a_script_that_a_merge_brings_gets_no_variables(with_variables):
    lake = with_variables.lake
    action = (
        "name: acts\non:\n  pre-merge:\nhooks:\n- id: only\n  type: lua\n"
        f"  properties:\n    script_path: scripts/a.lua\n    args: {VARIABLE}\n"
    )
    with_variables.put("sea", "main", "_lakefs_actions/acts.yaml", action)
    with_variables.put("sea", "main", "scripts/a.lua", "print(args.value:upper())")
    with_variables.commit("sea", "main")
    lake.branches.create("sea", "dev", "main")
    with_variables.put("sea", "dev", "a", "a")
    with_variables.commit("sea", "dev")
    lake.refs.merge("sea", "dev", "main", committer="root")
    assert with_variables.output("pre-merge") == "DRAWER\n"
    with_variables.put("sea", "dev", "scripts/a.lua", SHOW)
    with_variables.commit("sea", "dev")
    message = refused(lambda: lake.refs.merge("sea", "dev", "main", committer="root"))
    assert "scripts/a.lua is not on the branch main before this change" in message
