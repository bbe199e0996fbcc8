"""What hooks may do: what both the user who causes the event and the authors of the code may."""

from contextlib import nullcontext

import msgspec
import pytest
from support.changes import Background
from support.eventually import eventually
from support.hooks.forked_hooks import hook_interpreter
from support.hooks.hook_installation import hook_installation

from anabranch.actions.files.events import EventType
from anabranch.catalog.actions.hook_lake import HookRights
from anabranch.child_process import child
from anabranch.errors import Denied, PreconditionFailed
from anabranch.model.caller import Caller, acting_as
from anabranch.rest.hook_authority import RestAuthority

PRIVATE = "arn:lakefs:fs:::repository/sea/object/private/*"
ATTEMPTS = """
    local lakefs = require("lakefs")
    local function status(f, ...)
      local ok, found = pcall(f, ...)
      return ok and found or "denied"
    end
    print("private " .. status(lakefs.get_object, "sea", "main", "private/a"))
    print("other " .. status(lakefs.get_object, "land", "main", "a"))
    print("tag " .. status(lakefs.create_tag, "land", "main", "made"))
"""
LIMITED = ["private 401", "other denied", "tag denied"]
UNLIMITED = ["private 200", "other denied", "tag denied"]
NOTHING = ["private denied", "other denied", "tag denied"]


@pytest.fixture
def installation(tmp_path, monkeypatch):
    monkeypatch.setattr(child, "INTERPRETER", [hook_interpreter()])
    with hook_installation(tmp_path / "server") as opened:
        yield opened


@pytest.fixture
def eve(installation):
    """A user who may not read `private/`."""
    return installation.add_user("eve", PRIVATE)


def seen(installation, event):
    return installation.output(event).splitlines()[:3]


def change_everything(installation):
    """Makes changes that cause all events but the expiry of a branch, on `main` and from it."""
    lake = installation.lake
    lake.branches.create("sea", "dev", "main")
    lake.tags.create("sea", "v1", "main")
    lake.tags.delete("sea", "v1")
    installation.put("sea", "main", "b", "b")
    installation.commit("sea", "main")
    lake.branches.revert("sea", "main", "main", committer="root")
    installation.put("sea", "dev", "c", "c")
    picked = installation.commit("sea", "dev")
    lake.branches.cherry_pick("sea", "main", picked, committer="root")
    installation.put("sea", "dev", "d", "d")
    installation.commit("sea", "dev")
    lake.refs.merge("sea", "dev", "main", committer="root")
    lake.branches.delete("sea", "dev")


def test_hooks_of_all_events_may_only_do_what_their_author_may(installation, eve):
    with acting_as(eve):
        installation.act(ATTEMPTS, *EventType)
    with acting_as(installation.root):
        change_everything(installation)
    events = set(EventType) - {EventType.PRE_EXPIRE_BRANCH}
    assert {event: seen(installation, event) for event in events} == dict.fromkeys(events, LIMITED)
    assert installation.lake.tags.list("land", amount=9).items == []


def test_hooks_before_a_branch_expires_have_no_user_and_no_api(installation, eve):
    with acting_as(eve):
        installation.act(ATTEMPTS, "pre-expire-branch")
    lake = installation.lake
    installation.add_expired_branch("sea", "brief")
    lake.expiry.delete_due()
    assert lake.expiry.wait()
    assert seen(installation, "pre-expire-branch") == NOTHING


def test_hooks_of_an_author_with_all_rights_may_do_what_their_caller_may(installation, eve):
    with acting_as(installation.root):
        installation.act(ATTEMPTS, "pre-commit")
        installation.put("sea", "main", "b", "b")
        installation.commit("sea", "main")
    assert seen(installation, "pre-commit") == UNLIMITED
    with acting_as(eve):
        installation.put("sea", "main", "c", "c")
        installation.commit("sea", "main")
    assert seen(installation, "pre-commit") == LIMITED


@pytest.mark.parametrize("event", ["prepare-commit", "pre-commit", "post-commit"])
def test_an_action_file_that_another_user_commits_has_the_rights_of_who_staged_it(
    installation, eve, event
):
    with acting_as(eve):
        installation.act(ATTEMPTS, event, commit=False)
    with acting_as(installation.root):
        installation.commit("sea", "main")
    assert seen(installation, event) == LIMITED


def test_a_staged_action_file_on_the_source_of_a_new_branch_has_the_rights_of_who_staged_it(
    installation, eve
):
    with acting_as(eve):
        installation.act(ATTEMPTS, "pre-create-branch", commit=False)
    with acting_as(installation.root):
        installation.lake.branches.create("sea", "dev", "main")
    assert seen(installation, "pre-create-branch") == LIMITED


@pytest.mark.parametrize("squash", [False, True])
@pytest.mark.parametrize("event", ["pre-merge", "post-merge"])
def test_a_merge_that_brings_an_action_file_runs_it_with_the_rights_of_its_author(
    installation, eve, event, squash
):
    with acting_as(installation.root):
        installation.lake.branches.create("sea", "dev", "main")
    with acting_as(eve):
        installation.act(ATTEMPTS, event, branch="dev")
    with acting_as(installation.root):
        installation.lake.refs.merge("sea", "dev", "main", committer="root", squash=squash)
        assert seen(installation, event) == LIMITED
        # who merged it is the last committer on the branch, and answers for it from now on
        installation.put("sea", "dev", "b", "b")
        installation.commit("sea", "dev")
        installation.lake.refs.merge("sea", "dev", "main", committer="root")
        eventually(lambda: seen(installation, event) == UNLIMITED)


def test_a_pull_request_that_brings_an_action_file_runs_it_with_the_rights_of_its_author(
    installation, eve
):
    with acting_as(eve):
        installation.lake.branches.create("sea", "dev", "main")
        installation.act(ATTEMPTS, "pre-merge", branch="dev")
        pull = installation.lake.pulls.create(
            "sea", title="t", source="dev", destination="main", author="eve"
        )
    with acting_as(installation.root):
        installation.lake.pulls.merge("sea", pull.id, committer="root")
    assert seen(installation, "pre-merge") == LIMITED


def test_a_commit_in_the_background_runs_hooks_with_the_rights_of_its_caller(installation, eve):
    lake = installation.lake
    with acting_as(installation.root):
        installation.act(ATTEMPTS, "pre-commit")
    with acting_as(eve):
        installation.put("sea", "main", "b", "b")
        task = lake.branch_tasks.commits.start(
            "sea",
            "main",
            Background(
                lambda completion: lake.commits.commit(
                    "sea", "main", message="m", committer="eve", extra_writes=completion
                )
            ),
        )
    eventually(lambda: lake.branch_tasks.commits.status("sea", "main", task).ended)
    assert seen(installation, "pre-commit") == LIMITED


def test_the_author_of_a_script_in_the_repository_limits_its_hook(installation, eve):
    action = (
        "name: acts\non:\n  pre-commit:\nhooks:\n- id: only\n  type: lua\n"
        "  properties: {script_path: scripts/a.lua}\n"
    )
    with acting_as(installation.root):
        installation.put("sea", "main", "_lakefs_actions/acts.yaml", action)
        installation.put("sea", "main", "scripts/a.lua", ATTEMPTS)
        installation.commit("sea", "main")
        installation.put("sea", "main", "b", "b")
        installation.commit("sea", "main")
    assert seen(installation, "pre-commit") == UNLIMITED
    with acting_as(eve):
        installation.put("sea", "main", "scripts/a.lua", ATTEMPTS + "-- as before")
    with acting_as(installation.root):
        installation.commit("sea", "main")
    assert seen(installation, "pre-commit") == LIMITED
    with acting_as(eve):
        installation.put("sea", "main", "scripts/a.lua", ATTEMPTS)
        installation.commit("sea", "main")
    with acting_as(installation.root):
        installation.put("sea", "main", "b", "c")
        installation.commit("sea", "main")
    assert seen(installation, "pre-commit") == LIMITED


def test_a_script_that_the_author_may_not_read_is_not_loaded(installation, eve):
    action = (
        "name: acts\non:\n  pre-commit:\nhooks:\n- id: only\n  type: lua\n"
        "  properties: {script_path: private/a}\n"
    )
    with acting_as(eve):
        installation.put("sea", "main", "_lakefs_actions/acts.yaml", action)
        with pytest.raises(PreconditionFailed, match="could not load script_path private/a"):
            installation.commit("sea", "main")
    with acting_as(installation.root), pytest.raises(PreconditionFailed) as caught:
        installation.commit("sea", "main")
    assert "may not read 'private/a'" in caught.value.message


@pytest.mark.parametrize("seconds_later", [0, 1])
def test_hooks_of_a_deleted_user_may_do_nothing_even_if_the_name_is_used_again(
    installation, eve, seconds_later
):
    with acting_as(eve):
        installation.act(ATTEMPTS, "pre-commit")
    installation.access.users.delete("eve")
    for again in (False, True):
        if again:
            installation.add_user("eve", created_at=eve.created_at + seconds_later)
        with acting_as(installation.root):
            installation.put("sea", "main", "b", str(again))
            installation.commit("sea", "main")
        assert seen(installation, "pre-commit") == NOTHING


def test_what_an_earlier_version_recorded_is_compared_by_the_time_of_creation(installation, eve):
    for created_at, status in ((eve.created_at, 200), (eve.created_at - 1, 0)):
        rights = HookRights(Caller("eve", (), created_at), "sea", "run")
        with pytest.raises(Denied) if not status else nullcontext():
            authority = installation.lake.hook_lakes.authority
            assert authority.request(rights, "GET", "/repositories/sea", {}, b"")[0] == status


def test_hooks_of_an_inactive_user_may_do_nothing(installation, eve):
    with acting_as(eve):
        installation.act(ATTEMPTS, "pre-commit")
    installation.access.users.set_active("eve", active=False)
    with acting_as(installation.root):
        installation.put("sea", "main", "b", "b")
        installation.commit("sea", "main")
    assert seen(installation, "pre-commit") == NOTHING


def test_the_committer_that_a_client_writes_into_a_record_gives_no_rights(installation, eve):
    lake = installation.lake
    with acting_as(eve):
        installation.act(ATTEMPTS, "pre-commit")
        head = lake.commits.get("sea", "main")
        forged = lake.core.commits.make(
            committer="root",
            message="m",
            metarange_id=head.metarange_id,
            metadata={},
            parents=[lake.commits.get("sea", head.parents[0])],
        )
        lake.commits.create_record("sea", forged)
        lake.branches.create("sea", "forged", forged.id)
    with acting_as(installation.root):
        installation.put("sea", "forged", "b", "b")
        installation.commit("sea", "forged")
    assert seen(installation, "pre-commit") == LIMITED


def _forget_authors(installation, commit_id):
    """Removes the record of a commit's authors, which earlier versions did not write."""
    core = installation.lake.core
    repository = core.repositories.get("sea")
    core.keyvalue.apply([core.code_authors.of_commit(repository, commit_id)._replace(value=None)])


@pytest.mark.parametrize(
    ("committer", "allowed"),
    [
        ("eve", LIMITED),
        ("eve@sea", LIMITED),
        ("two@sea", NOTHING),
        ("none", NOTHING),
        ("", NOTHING),
    ],
)
def test_a_commit_without_a_recorded_author_is_attributed_to_the_one_user_it_names(
    installation, committer, allowed
):
    installation.add_user("eve", PRIVATE, email="eve@sea")
    installation.add_user("two@sea")
    installation.add_user("other", email="two@sea")
    with acting_as(installation.root):
        installation.act(ATTEMPTS, "pre-commit", commit=False)
        made = installation.lake.commits.commit(
            "sea", "main", message="m", committer=committer, date=2**31
        )
        _forget_authors(installation, made.id)
        installation.put("sea", "main", "b", "b")
        installation.commit("sea", "main")
    assert seen(installation, "pre-commit") == allowed


def test_a_user_who_was_created_after_a_commit_is_not_its_author(installation):
    with acting_as(installation.root):
        installation.act(ATTEMPTS, "pre-commit", commit=False)
        made = installation.lake.commits.commit(
            "sea", "main", message="m", committer="late", date=1_000
        )
        _forget_authors(installation, made.id)
        installation.add_user("late")
        installation.put("sea", "main", "b", "b")
        installation.commit("sea", "main")
    assert seen(installation, "pre-commit") == NOTHING


def test_restored_commits_are_attributed_to_the_user_who_restored_them(installation, eve):
    lake = installation.lake
    with acting_as(installation.root):
        installation.act(ATTEMPTS, "pre-commit")
        dump = lake.refs_dumps.dump("sea")
        lake.repositories.delete("sea")
        lake.repositories.create("sea", "local://sea", bare=True)
    with acting_as(eve):
        lake.refs_dumps.restore("sea", dump)
    with acting_as(installation.root):
        installation.put("sea", "main", "b", "b")
        installation.commit("sea", "main")
    assert seen(installation, "pre-commit") == LIMITED


def test_what_a_hook_writes_is_attributed_to_its_authors_as_well(installation, eve):
    lake = installation.lake
    authority = lake.hook_lakes.authority
    assert isinstance(authority, RestAuthority)
    (author,), (root,) = eve.principals, installation.root.principals
    caller = Caller("root", ("sea/other",), root.created_at, (author,), root.record_id)
    rights = HookRights(caller, "sea", "run")
    path = {"path": "_lakefs_actions/acts.yaml"}
    status, _ = authority.request(
        rights, "POST", "/repositories/sea/branches/main/objects", path, b"on: {}"
    )
    assert status == 201
    core = lake.core
    repository = core.repositories.get("sea")
    place = core.references.resolve(repository, "main")
    value = core.objects.value(repository, place, path["path"])
    staged = core.staging.authors(place.tokens, path["path"].encode(), value)
    assert staged == (root, author)


@pytest.mark.parametrize(
    "path",
    [
        "/repositories/land/branches",
        "/repositories/sea%2F../land/branches",
        "/repositories/../repositories/land/branches",
        "//repositories/land/branches",
        "/repositories",
        "/user",
        "/auth/users/eve/credentials",
    ],
)
def test_operations_outside_of_the_repository_are_refused(installation, path):
    rights = HookRights(installation.root, "sea", "run")
    with pytest.raises(Exception, match="hooks reach the repository sea alone"):
        installation.lake.hook_lakes.authority.request(rights, "GET", path, {}, b"")


def test_an_operation_that_names_another_repository_in_its_body_is_refused(installation):
    rights = HookRights(installation.root, "sea", "run")
    body = {"paths": [{"type": "object", "path": "local://land/data/x", "destination": "x"}]}
    body["commit"] = {"message": "m"}
    status, _ = installation.lake.hook_lakes.authority.request(
        rights, "POST", "/repositories/sea/branches/main/import", {}, msgspec.json.encode(body)
    )
    assert status == 401


def test_one_setting_gives_hooks_the_rights_of_lakefs(tmp_path):
    settings = {"ANABRANCH_ACTIONS_TRUST_AUTHORS": "true"}
    with hook_installation(tmp_path / "server", settings) as installation:
        with acting_as(installation.add_user("eve", PRIVATE)):
            installation.act(ATTEMPTS, "pre-commit", commit=False)
        with acting_as(installation.root):
            installation.commit("sea", "main")
        assert seen(installation, "pre-commit") == ["private 200", "other 200", "tag 201"]


def test_audit_records_of_what_a_hook_does_name_its_run(tmp_path):
    log = tmp_path / "audit.log"
    with hook_installation(tmp_path / "server", {"ANABRANCH_AUDIT_FILE": str(log)}) as installation:
        with acting_as(installation.root):
            installation.act(ATTEMPTS, "pre-commit")
        run = installation.lake.engine.records.list("sea", amount=1).items[0]
        eventually(lambda: "fs:ReadObject" in log.read_text())
    records = [msgspec.json.decode(line) for line in log.read_text().splitlines()]
    reads = [each for each in records if each.get("action") == "fs:ReadObject"]
    assert {(each["user"], each["hook_run"], each["resource"]) for each in reads} == {
        ("root", run.id, "arn:lakefs:fs:::repository/sea/object/private/a")
    }
