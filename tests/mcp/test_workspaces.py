"""Tools that write: in workspaces of the caller alone, as the server says, not the tools."""

from __future__ import annotations

import base64
import itertools

import httpx2
import pytest

import anabranch
from anabranch.testing.server import running_server

WRITING = {
    "create_workspace",
    "write_object",
    "delete_object",
    "restore_workspace",
    "checkpoint_workspace",
    "propose_workspace",
    "discard_workspace",
}
_numbers = itertools.count(1)


@pytest.fixture(scope="module")
def writing_server(tmp_path_factory):
    """A server that offers tools which write."""
    folder = tmp_path_factory.mktemp("writing")
    with running_server(folder, env={"ANABRANCH_MCP_WRITE": "true"}) as running:
        yield running


@pytest.fixture(
    scope="module", params=[pytest.param("stdio", marks=pytest.mark.slow), "http", "folder"]
)
def lake(request, connect, writing_server, tmp_path_factory):
    """A session that may write, and a function that opens its lake."""
    server = writing_server

    def opened():
        if request.param == "folder":
            return anabranch.open(folder, committer="ada")
        return anabranch.connect(server.url, *server.auth)

    folder = tmp_path_factory.mktemp("writing") / "lake"
    if request.param == "folder":
        opened().close()
        words, variables = ["--data", str(folder)], {}
    else:
        words, variables = [], environment(server, server.auth)
    if request.param == "http":
        with connect["http"](server, server.auth) as session:
            yield session, opened
    else:
        with connect["stdio"]("--write", *words, **variables) as session:
            yield session, opened


@pytest.fixture
def writer(lake):
    """The session, the name of a new repository, and the function."""
    session, opened = lake
    name = f"lake-{next(_numbers)}"
    with opened() as writable:
        writable.repositories.create(name)
        writable.objects.upload(name, "main", "out/a.csv", [b"a,b\n1,2\n"])
        writable.objects.upload(name, "main", "in/b.csv", [b"a,b\n1,2\n"])
        writable.commits.commit(name, "main", message="first")
    return session, name, opened


def environment(server, pair):
    return {
        "ANABRANCH_SERVER": server.url,
        "ANABRANCH_ACCESS_KEY_ID": pair[0],
        "ANABRANCH_SECRET_ACCESS_KEY": pair[1],
    }


def heads(lake, name):
    """Returns the commit of each branch."""
    names = [each.name for each in lake.repository(name).branches()]
    return {each: lake.branches.get(name, each).commit_id for each in names}


def begin(session, name, **more):
    """Returns the id of a new workspace that may write below out/."""
    asked = {"repository": name, "writable": ["out/**"], "purpose": "a test", **more}
    made = session.call("create_workspace", **asked)
    assert not made.is_error, made.whole
    assert "token" not in made.whole
    assert "secret" not in made.whole
    return made.data["id"]


@pytest.mark.sample(1)
def test_hints_tell_which_tools_write_and_replace(writer):
    session, _, _ = writer
    tools = {tool.name: tool for tool in session.ask("list_tools").tools}
    assert len(tools) == 20
    assert tools.keys() > WRITING
    for name, tool in tools.items():
        hints = tool.annotations
        assert hints.read_only_hint == (name not in WRITING)
        destroys = name in WRITING - {
            "create_workspace",
            "checkpoint_workspace",
            "propose_workspace",
        }
        assert hints.destructive_hint == destroys
    prompts = {each.name: each for each in session.ask("list_prompts").prompts}
    assert prompts.keys() == {"audit_change", "write_audit_publish"}
    arguments = {"repository": "sea", "task": "correct {depths}"}
    (message,) = session.ask("get_prompt", "write_audit_publish", arguments).messages
    assert "correct {depths}" in message.content.text
    for tool in WRITING:
        assert f"`{tool}`" in message.content.text


def test_a_change_is_written_audited_and_proposed(writer):
    session, name, opened = writer
    own = begin(session, name)
    place = {"repository": name, "workspace": own}
    wrote = session.call("write_object", **place, path="out/a.csv", content="a,b\n1,3\n")
    assert wrote.data["size_bytes"] == 8
    raw = base64.b64encode(bytes(range(256))).decode()
    session.call("write_object", **place, path="out/raw", content=raw, encoding="base64")
    changed = session.results("diff", repository=name, left="main", right=f"{own}$")
    assert [(each["path"], each["change"]) for each in changed] == [
        ("out/a.csv", "changed"),
        ("out/raw", "added"),
    ]
    made = session.call("checkpoint_workspace", **place, label="one", message="Corrected").data
    session.call("delete_object", **place, path="out/raw")
    read = session.call("read_object", repository=name, reference=own, path="out/a.csv")
    assert read.text == "a,b\n1,3\n"
    proposed = session.call("propose_workspace", **place, title="Correct b")
    pull = session.call("pull_requests", repository=name, id=proposed.data["pull_request"]).data
    assert (pull["title"], pull["source_branch"], pull["destination_branch"]) == (
        "Correct b",
        own,
        "main",
    )
    with opened() as lake:
        assert lake.repository(name).branch("main").read("out/a.csv") == b"a,b\n1,2\n"
        messages = [each.message for each in lake.repository(name).branch(own).log()]
        assert messages[:2] == ["Correct b", "Corrected"]
        assert lake.repository(name).ref(made["commit_id"]).read("out/raw") == bytes(range(256))
        assert not lake.repository(name).branch(own).exists("out/raw")


def test_a_workspace_returns_to_its_checkpoints(writer):
    session, name, _ = writer
    own = begin(session, name)
    place = {"repository": name, "workspace": own}
    read = {"repository": name, "reference": own, "path": "out/a.csv"}
    session.call("write_object", **place, path="out/a.csv", content="one")
    session.call("checkpoint_workspace", **place, label="first")
    session.call("write_object", **place, path="out/a.csv", content="two")
    assert session.call("read_object", **read).text == "two"
    assert session.call("restore_workspace", **place, checkpoint="first").data["label"] == "first"
    assert session.call("read_object", **read).text == "one"
    assert session.call("restore_workspace", **place, checkpoint="none").is_error
    session.call("restore_workspace", **place, checkpoint="source")
    assert session.call("read_object", **read).text == "a,b\n1,2\n"


@pytest.mark.sample(1)
def test_operations_of_a_workspace_are_undone_and_no_others(writer):
    session, name, opened = writer
    own = begin(session, name)
    place = {"repository": name, "workspace": own}
    read = {"repository": name, "reference": own, "path": "out/a.csv"}
    session.call("write_object", **place, path="out/a.csv", content="one")
    session.call("checkpoint_workspace", **place, label="first")
    session.call("write_object", **place, path="out/a.csv", content="two")
    session.call("restore_workspace", **place, checkpoint="source")
    listed = session.results("list_operations", repository=name)
    assert [each["workspace"] for each in listed[:2]] == [own, own]
    undone = session.call("restore_workspace", **place, operation="last").data["undone"]
    assert undone["id"] == listed[0]["id"]
    assert session.call("read_object", **read).text == "two"
    # the checkpoint is beneath what is not committed
    assert session.call("restore_workspace", **place, operation="last").error["kind"] == (
        "changed_since"
    )
    session.call("restore_workspace", **place, checkpoint="first")
    assert not session.call("restore_workspace", **place, operation=listed[1]["id"]).is_error
    assert session.call("read_object", **read).text == "a,b\n1,2\n"
    for arguments in ({}, {"operation": "last", "checkpoint": "first"}):
        refused = session.call("restore_workspace", **place, **arguments)
        assert refused.error["kind"] == "invalid_arguments"
    with opened() as lake:
        lake.branches.create(name, "elsewhere", "main")
        before = heads(lake, name)
    others = session.results("list_operations", repository=name, amount=100)
    foreign = [each["id"] for each in others if each["workspace"] != own]
    assert foreign
    for operation in [*foreign, "", "x" * 200, "../undo", "0"]:
        assert session.call("restore_workspace", **place, operation=operation).is_error
    for workspace in ("main", "elsewhere"):
        place = {"repository": name, "workspace": workspace}
        assert session.call("restore_workspace", **place, operation="last").is_error
    with opened() as lake:
        assert heads(lake, name) == before


def test_nothing_but_the_writable_paths_of_the_workspace_can_be_changed(writer):
    session, name, opened = writer
    own = begin(session, name)
    with opened() as lake:
        lake.branches.create(name, "other", "main")
        before = heads(lake, name)
    for workspace in ("main", "other", f"{own}$", "main~1", "../branches/main", "ws-unknown"):
        place = {"repository": name, "workspace": workspace}
        for tool, more in [
            ("write_object", {"path": "out/x", "content": "x"}),
            ("delete_object", {"path": "out/a.csv"}),
            ("checkpoint_workspace", {"label": "x"}),
            ("propose_workspace", {"title": "x"}),
            ("restore_workspace", {"checkpoint": "source"}),
            ("discard_workspace", {}),
        ]:
            assert session.call(tool, **place, **more).is_error, (tool, workspace)
    place = {"repository": name, "workspace": own}
    for path in ("in/b.csv", "outside", "_lakefs_actions/a.yaml", "out/../in/b.csv", "/out/a"):
        wrote = session.call("write_object", **place, path=path, content="x")
        assert wrote.error["kind"] in {"insufficient_permissions", "outside_workspace"}, path
    assert session.call("delete_object", **place, path="in/b.csv").is_error
    with opened() as lake:
        after = heads(lake, name)
        assert after == before
        assert not list(lake.repository(name).branch("main").changes())
        assert not list(lake.repository(name).branch("other").changes())
        assert not list(lake.repository(name).branch(own).changes())


@pytest.mark.sample(1)
def test_what_was_read_in_the_workspace_is_kept_with_the_proposal(writer):
    session, name, _ = writer
    own = begin(session, name)
    place = {"repository": name, "workspace": own}
    at = {"repository": name, "reference": own}
    assert session.call("read_object", **at, path="in/b.csv").text == "a,b\n1,2\n"
    sql = f"SELECT * FROM 'lakefs://{name}/{own}/out/a.csv'"
    assert session.call("query", **at, sql=sql).data["rows"] == [[1, 2]]
    session.call("read_object", repository=name, path="out/a.csv")  # of main, by the user
    outside = f"SELECT * FROM 'lakefs://{name}/main/out/a.csv'"
    assert session.call("query", **at, sql=outside).is_error
    session.call("write_object", **place, path="out/a.csv", content="a,b\n1,3\n")
    proposed = session.call("propose_workspace", **place, title="Correct b").data
    pull = session.call("pull_requests", repository=name, id=proposed["pull_request"]).data
    assert {each["path"] for each in pull["reads"]} == {"in/b.csv", "out/a.csv"}


CHECK = """\
name: rows are whole
on:
  pre-commit:
hooks:
  - id: rules
    type: check
    properties:
      tables:
        - path: "out/*.csv"
          not_null: [a, b]
"""


@pytest.mark.slow
def test_checks_refuse_a_checkpoint_and_show_why(writer):
    session, name, opened = writer
    with opened() as lake:
        lake.objects.upload(name, "main", "_lakefs_actions/rows.yaml", [CHECK.encode()])
        lake.commits.commit(name, "main", message="a check")
    place = {"repository": name, "workspace": begin(session, name)}
    session.call("write_object", **place, path="out/a.csv", content="a,b\n1,\n")
    refused = session.call("checkpoint_workspace", **place, label="one").error
    assert refused["kind"] == "hook_failed"
    (run,) = session.results("check_results", repository=name, branch=place["workspace"])
    assert run["status"] == "failed"
    shown = session.call("check_results", repository=name, run_id=run["run_id"]).data
    (hook,) = shown["hooks"]["results"]
    assert "out/a.csv" in hook["output"]
    session.call("write_object", **place, path="out/a.csv", content="a,b\n1,2\n3,4\n")
    assert not session.call("checkpoint_workspace", **place, label="one").is_error


def test_a_discarded_workspace_is_gone(writer):
    session, name, opened = writer
    own = begin(session, name)
    place = {"repository": name, "workspace": own}
    session.call("write_object", **place, path="out/x", content="x")
    assert session.call("discard_workspace", **place).data["discarded"]
    with opened() as lake:
        assert heads(lake, name).keys() == {"main"}
    assert session.call("write_object", **place, path="out/x", content="x").is_error


def test_arguments_that_make_no_workspace_are_refused(writer):
    session, name, _ = writer
    for more in (
        {"writable": []},
        {"writable": ["out/**"], "expires": "forever"},
        {"writable": ["out/**"], "purpose": ""},
        {"writable": ["out/**"], "source": "nowhere"},
        {"writable": ["out/**"], "repository": "nowhere"},
    ):
        asked = {"repository": name, "purpose": "a test", **more}
        assert session.call("create_workspace", **asked).is_error, more
    place = {"repository": name, "workspace": begin(session, name)}
    wrong = session.call("write_object", **place, path="out/x", content="?", encoding="base64")
    assert wrong.error["kind"] == "invalid_arguments"


@pytest.fixture(scope="module")
def team(writing_server):
    """Two users who may create branches, write and propose in all repositories."""
    server = writing_server
    pairs = []
    with httpx2.Client(base_url=server.api, auth=server.auth, timeout=60) as api:
        for user in ("bea", "cem"):
            assert api.post("/auth/users", json={"id": user}).is_success
            assert api.put(f"/auth/groups/Developers/members/{user}").is_success
            pair = api.post(f"/auth/users/{user}/credentials").json()
            pairs.append((pair["access_key_id"], pair["secret_access_key"]))
    with anabranch.connect(server.url, *server.auth) as lake:
        lake.repositories.create("shared")
        lake.objects.upload("shared", "main", "out/a", [b"1"])
        lake.commits.commit("shared", "main", message="first")
    return server, pairs


def test_workspaces_of_other_users_cannot_be_changed(connect, team):
    server, (bea, cem) = team
    with connect["http"](server, bea) as hers, connect["http"](server, cem) as his:
        own = begin(hers, "shared")
        place = {"repository": "shared", "workspace": own}
        refused = his.call("write_object", **place, path="out/a", content="2")
        assert refused.error["kind"] == "not_own_workspace"
        assert his.call("discard_workspace", **place).error["kind"] == "not_own_workspace"
        assert not hers.call("write_object", **place, path="out/a", content="3").is_error


def test_keys_of_a_workspace_are_no_key_to_another_one(connect, team):
    server, (bea, _) = team
    with connect["http"](server, bea) as session:
        other = begin(session, "shared")
    body = {"source": "main", "writable": ["out/**"]}
    where = f"{server.api}/repositories/shared/workspaces"
    made = httpx2.post(where, json=body, auth=bea, timeout=60).json()
    with connect["http"](server, made["token"]) as confined:
        place = {"repository": "shared", "workspace": made["id"], "path": "out/a"}
        assert not confined.call("write_object", **place, content="2").is_error
        place["workspace"] = other
        assert confined.call("write_object", **place, content="2").is_error
        asked = {"repository": "shared", "writable": ["**"], "purpose": "escape"}
        assert confined.call("create_workspace", **asked).is_error
        assert confined.call("log", repository="shared").is_error  # of main
        assert confined.call("read_object", repository="shared", path="out/a").is_error
        reading = {"repository": "shared", "reference": made["id"], "path": "out/a"}
        assert confined.call("read_object", **reading).text == "2"


def test_without_write_there_are_no_such_tools(connect, server):
    with connect["http"](server, server.auth) as session:
        names = {tool.name for tool in session.ask("list_tools").tools}
        assert not names & WRITING
        with pytest.raises(Exception, match="no tool"):
            session.call("create_workspace", repository="a", writable=["**"], purpose="x")
