"""Workspaces of the three lakes."""

from __future__ import annotations

import pytest

import anabranch
from anabranch.errors import AlreadyExists, Conflict, Denied, Invalid, NotFound, Unauthenticated
from anabranch.lake.workspace_handle import WorkspaceHandle
from anabranch.model.references.workspace_request import WorkspaceRequest

REQUEST = WorkspaceRequest(
    source="main",
    seconds=3600,
    readable=("in/**", "out/**"),
    writable=("out/**",),
    purpose="Clean",
    run_id="7",
    metadata={"k": "v"},
)


@pytest.fixture
def filled(lake, sea):
    lake.objects.upload(sea, "main", "in/a", [b"a"])
    lake.objects.upload(sea, "main", "secret/a", [b"secret"])
    lake.commits.commit(sea, "main", message="data")
    return sea


def test_from_creation_to_its_end(lake, filled):
    opened = lake.workspaces.create(filled, REQUEST)
    name = opened.workspace.branch
    assert (opened.workspace.writable, opened.workspace.metadata) == (("out/**",), {"k": "v"})
    found = lake.workspaces.get(filled, name)
    assert found.branch.expires_at == opened.branch.expires_at
    assert found.keys is None
    assert [each.workspace.branch for each in lake.workspaces.list(filled, amount=5).items] == [
        name
    ]
    lake.objects.upload(filled, name, "out/a", [b"1"])
    first = lake.workspaces.checkpoint(filled, name, "one", message="First")
    assert lake.commits.get(filled, first.commit_id).message == "First"
    with pytest.raises(AlreadyExists):
        lake.workspaces.checkpoint(filled, name, "one")
    lake.objects.upload(filled, name, "out/b", [b"2"])
    changed = lake.workspaces.diff(filled, name, amount=9).items
    assert [(each.kind, each.path) for each in changed] == [("added", "out/a"), ("added", "out/b")]
    assert lake.workspaces.restore(filled, name, "one") == first
    restored = lake.operations.list(filled, amount=1).items[0]
    assert lake.workspaces.undo(filled, name).id == restored.id
    changed = lake.workspaces.diff(filled, name, amount=9).items
    assert [each.path for each in changed] == ["out/a", "out/b"]
    with pytest.raises(Conflict, match="undone already"):
        lake.workspaces.undo(filled, name, restored.id)
    lake.workspaces.restore(filled, name, "one")
    proposal = lake.workspaces.propose(filled, name, title="Clean it")
    assert lake.workspaces.get(filled, name).workspace.pull_request == proposal.id
    lake.workspaces.discard(filled, name)
    with pytest.raises(NotFound):
        lake.workspaces.get(filled, name)


@pytest.fixture(params=["folder", "server"])
def waiting(request):
    """A lake whose workspaces are blocks."""
    if request.param == "folder":
        yield request.getfixturevalue("folder_lake")
        return
    server = request.getfixturevalue("lake_server")
    with anabranch.connect(server.url, *server.auth) as lake:
        yield lake


@pytest.fixture
def place(waiting, request):
    name = f"block-{abs(hash(request.node.name)) % 10**9}"
    waiting.repositories.create(name)
    waiting.objects.upload(name, "main", "in/a", [b"a"])
    waiting.objects.upload(name, "main", "secret/a", [b"secret"])
    waiting.commits.commit(name, "main", message="data")
    return name


def branches(lake, repository):
    return [each.id for each in lake.branches.list(repository, amount=9).items]


def test_a_block_ends_the_workspace(waiting, place):
    with waiting.workspace(place, writable=["out/**"], expires="1h") as ws:
        assert isinstance(ws, WorkspaceHandle)
        ws.write("out/a", "text")
        with ws.open("out/b", "w") as file:
            file.write("more")
        ws.checkpoint("one")
        ws.remove("out/b")
        assert [each.path for each in ws.changed()] == ["out/a"]
        ws.restore("one")
        assert sorted(each.path for each in ws.changed()) == ["out/a", "out/b"]
        assert ws.name in branches(waiting, place)
    assert branches(waiting, place) == ["main"]


def test_a_block_takes_its_own_operations_back_and_no_others(waiting, place):
    with waiting.workspace(place, writable=["out/**"]) as ws:
        with pytest.raises(NotFound):  # it was created, which ends with the workspace
            ws.undo()
        waiting.tags.create(place, "aside", "main")
        ws.write("out/a", "1")
        ws.checkpoint("one")
        ws.write("out/a", "2")
        ws.restore("source")
        assert list(ws.changed()) == []
        ws.undo()
        assert ws.read("out/a") == b"2"
        with pytest.raises(Conflict):  # what has returned is in the way of an undo of the first
            ws.undo()
        ws.restore("one")
        again = waiting.operations.list(place, amount=1).items[0]
        assert ws.undo(again.id[:16]).id == again.id
        assert ws.read("out/a") == b"2"
        for other in waiting.operations.list(place, amount=20).items:
            if other.changes[0].name != ws.name:
                with pytest.raises(NotFound):
                    ws.undo(other.id)
    assert [each.id for each in waiting.tags.list(place, amount=9).items] == ["aside"]


def test_a_block_that_proposes_keeps_it(waiting, place):
    with waiting.workspace(place, writable=["out/**"], name="mine") as ws:
        ws.write("out/a", "text")
        pull = ws.propose("A title")
    assert branches(waiting, place) == ["main", "mine"]
    assert waiting.workspaces.get(place, "mine").workspace.pull_request == pull


def test_a_block_that_fails_ends_it_and_one_that_keeps_it_does_not(waiting, place):
    with pytest.raises(ZeroDivisionError), waiting.workspace(place, writable=["out/**"]):
        _ = 1 / 0
    assert branches(waiting, place) == ["main"]
    with waiting.workspace(place, name="mine") as ws:
        ws.keep()
    assert branches(waiting, place) == ["main", "mine"]


def test_other_paths_are_refused_in_a_folder_as_on_a_server(waiting, place):
    with waiting.workspace(place, writable=["out/**"]) as ws:
        for path in ("in/a", "out/../in/a", "_lakefs_actions/a.yaml"):
            for change in (
                lambda path=path: ws.write(path, "x"),
                lambda path=path: ws.open(path, "wb"),
                lambda path=path: ws.remove(path),
            ):
                with pytest.raises(Denied):
                    change()
        with pytest.raises(Denied):
            ws.merge("main")
        with pytest.raises(Denied):
            ws.transaction("m")
        assert not list(ws.changed())


def test_on_a_server_it_has_the_keys_of_the_workspace(lake_server):
    with anabranch.connect(lake_server.url, *lake_server.auth) as lake:
        lake.repositories.create("keys")
        lake.objects.upload("keys", "main", "in/a", [b"a"])
        lake.objects.upload("keys", "main", "secret/a", [b"secret"])
        lake.commits.commit("keys", "main", message="data")
        with lake.workspace("keys", readable=["in/**"], writable=["out/**"]) as ws:
            assert ws.read("in/a") == b"a"
            with pytest.raises((Denied, Unauthenticated)):
                ws.read("secret/a")
            inside = anabranch.connect(lake_server.url, token=ws.keys.token.reveal())
            pair = ws.keys.access_key_id, ws.keys.secret.reveal()
            by_pair = anabranch.connect(lake_server.url, *pair)
            for each in (inside, by_pair):
                assert each.repository("keys").branch(ws.name).read("in/a") == b"a"
                with pytest.raises((Denied, Unauthenticated)):
                    each.repository("keys").branch("main").read("in/a")
        for each in (inside, by_pair):
            with pytest.raises(Unauthenticated), each:
                each.repository("keys").branch(ws.name).read("in/a")


@pytest.mark.parametrize("expires", ["", "1", "0h", "400d", "1 h"])
def test_a_time_that_is_none_makes_no_workspace(waiting, place, expires):
    with pytest.raises(Invalid):
        waiting.workspace(place, expires=expires)
    assert branches(waiting, place) == ["main"]
