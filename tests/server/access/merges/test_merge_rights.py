"""Rules of merges act with the rights of the caller, in every operation that applies rules.

`WAYS` has a row for each way to merge. A rule for `private/*` sends the three versions to a webhook
and stores its response. Its file was written by a user who may not read below `private/`.
"""

from __future__ import annotations

import base64
import inspect
import json
import re
from pathlib import Path
from typing import NamedTuple

import pytest
from support.eventually import eventually
from support.http_servers import answer, serving

import anabranch
from anabranch.access.actors.actor import Actor
from anabranch.access.actors.confined_actor import ConfinedActor
from anabranch.access.actors.confinement import Confinement
from anabranch.access.actors.limited_actor import LimitedActor
from anabranch.access.policies.statements import ALLOW_ALL, Effect, Statement
from anabranch.errors import MergeConflict
from anabranch.model.caller import Principal
from anabranch.model.references.workspace import Workspace
from anabranch.model.secret import Secret
from anabranch.rest.gateway import RestGateway
from anabranch.rest.routes import ALL_OPERATIONS
from anabranch.server.composition import Composition
from anabranch.server.config.field import build

OBJECT = "arn:lakefs:fs:::repository/{}/object/private/*"
PATH = "private/s.csv"
RESPONSE = b"written by the webhook"


class Way(NamedTuple):
    """An operation that applies rules: its id, its use case, how it is called, and the branch that
    it would change. A `confined` one is called by the keys of a workspace of the user.
    """

    operation: str
    use_case: str
    method: str
    path: str
    body: dict
    branch: str = "mine"
    status: int = 409
    confined: bool = False


MERGE = "/refs/theirs/merge/mine"
WAYS = {
    "merge": Way("mergeIntoBranch", "refs.merge", "POST", MERGE, {}),
    "squash": Way("mergeIntoBranch", "refs.merge", "POST", MERGE, {"squash_merge": True}),
    "dry run": Way(
        *("mergeIntoBranch", "refs.preview_merge", "POST", MERGE),
        {"dry_run": True},
        status=200,
    ),
    "background": Way(
        *("mergeIntoBranchAsync", "refs.merge", "POST", f"{MERGE}/async"), {}, status=202
    ),
    "pull request": Way("mergePullRequest", "pulls.merge", "PUT", "/pulls/{pull}/merge", {}),
    "dry run of a pull request": Way(
        *("mergePullRequest", "pulls.preview_merge", "PUT", "/pulls/{pull}/merge"),
        {"dry_run": True},
        status=200,
    ),
    "workspace": Way(
        "mergeWorkspace", "workspace_merges.merge", "POST", "/workspaces/theirs/merge", {}
    ),
    "workspace by its keys": Way(
        *("mergeWorkspace", "workspace_merges.merge_unattended", "POST"),
        "/workspaces/theirs/merge",
        {},
        confined=True,
    ),
    "cherry-pick": Way(
        *("cherryPick", "branches.cherry_pick", "POST", "/branches/mine/cherry-pick"),
        {"ref": "theirs"},
    ),
    "revert": Way(
        *("revertBranch", "branches.revert", "POST", "/branches/mine/revert"),
        {"ref": "{early}", "parent_number": 0},
    ),
    "reverts": Way(
        *("revertCommits", "branches.revert", "POST", "/branches/mine/reverts"),
        {"refs": ["{early}"]},
    ),
    "rebase": Way(
        *("rebaseBranch", "rebase.rebase", "POST", "/branches/theirs/rebase"),
        {"onto": "mine"},
        branch="theirs",
    ),
}


class Service:
    """A server in this process, and its users. The webhook is at `port`."""

    def __init__(self, folder, port, received):
        self.received = received
        self.port = port
        values = {
            "data": folder,
            "database.type": "mem",
            "blockstore.local.path": folder / "block",
            "blockstore.signing.secret_key": Secret("another secret, long enough"),
            "auth.encrypt.secret_key": Secret("a secret, long enough"),
            "committed.local_cache.dir": folder / "cache",
            "merges.webhook.allow": ("127.0.0.1",),
            "workspaces.auto_merge": ("mine",),
        }
        self.composition = Composition(build(values))
        self.lake = self.composition.lake
        self.gateway = RestGateway(self.composition.services)

    def call(self, actor, method, path, body):
        content = b"" if body is None else json.dumps(body).encode()
        response = self.gateway.perform(actor, method, path, "", content, hook_run="")
        return response.status, response.body

    def repository(self, name, rules=""):
        """Creates a repository whose branches theirs and mine both changed a private object, twice
        on mine, with a file of rules on mine; returns the ids that ways need.
        """
        lake = self.lake
        lake.repositories.create(name, f"local://{name}")

        def commit(branch, path, content):
            lake.objects.upload(name, branch, path, [content])
            return lake.commits.commit(name, branch, message="m", committer="ada").id

        commit("main", PATH, b"base")
        for branch in ("theirs", "mine"):
            lake.branches.create(name, branch, "main")
        commit("theirs", PATH, b"of theirs")
        early = commit("mine", PATH, b"early")
        commit("mine", PATH, b"of mine")
        url = f"http://127.0.0.1:{self.port}/"
        rule = f'rules:\n- {{path: "private/**", strategy: webhook, url: "{url}"}}\n'
        commit("mine", "_lakefs_merge.yaml", (rules or rule).encode())
        pull = lake.pulls.create(name, title="t", source="theirs", destination="mine", author="a")
        workspace = Workspace(
            branch="theirs",
            source="main",
            source_commit=lake.branches.get(name, "main").commit_id,
            created_at=0,
            creator=Principal("jane"),
            access_key_id=reach_of(name).access_key_id,
            writable=("**",),
            pull_request=pull.id,
        )
        stored = lake.core.repositories.get(name)
        lake.core.keyvalue.apply(*lake.core.workspaces.creation(stored, workspace))
        return {"pull": pull.id, "early": early}

    def perform(self, way, name, actor, ids):
        """Performs a way on a repository; returns the status and the body of the response, those
        of the task in the background.
        """
        body = json.loads(re.sub(r"\{(\w+)\}", lambda m: ids[m[1]], json.dumps(way.body)))
        place = f"/repositories/{name}"
        if way.confined:
            actor = ConfinedActor(actor, reach_of(name))
        at = place + way.path.format(**ids)
        status, content = self.call(actor, way.method, at, body)
        if status != 202:
            return status, content
        task = f"{at}/{json.loads(content)['id']}/status"

        def ended():
            return self.call(actor, "GET", task, None)[1]

        eventually(lambda: json.loads(ended())["completed"])
        return status, ended()

    def read(self, name, branch):
        return self.lake.objects.open(name, branch, PATH).read_bytes()


def reach_of(name):
    """Returns the reach of the keys of the workspace theirs."""
    return Confinement(
        repository=name,
        branch="theirs",
        source_commit="0" * 64,
        readable=(),
        writable=("**",),
        run_id="",
        expires_at=0,
        access_key_id="AKIAWTHEIRS",
    )


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    content = base64.b64encode(RESPONSE).decode()
    respond = answer(body=json.dumps({"content": content}).encode())
    with serving(respond) as (port, received):
        service = Service(tmp_path_factory.mktemp("data"), port, received)
        yield service
        service.composition.close()


def user(name, *denied):
    """Returns a user who has all permissions but these on what is private."""
    resource = OBJECT.format(name)
    statements = [ALLOW_ALL, *(Statement(Effect.DENY, (each,), (resource,)) for each in denied)]
    return Actor(username="jane", statements=statements)


def slug(text):
    return text.replace(" ", "-")


@pytest.mark.parametrize("way", WAYS)
def test_a_caller_who_may_read_and_write_the_object_merges_by_the_rule(service, way):
    name = f"may-{slug(way)}"
    ids = service.repository(name)
    service.received.clear()
    status, body = service.perform(WAYS[way], name, user(name), ids)
    assert status < 300, body
    assert len(service.received) == 1
    if WAYS[way].use_case.endswith("preview_merge"):
        assert json.loads(body)["settled"] == [{"path": PATH, "strategy": "webhook"}]
    else:
        assert service.read(name, WAYS[way].branch) == RESPONSE


@pytest.mark.parametrize("way", WAYS)
def test_what_the_caller_may_not_read_is_not_sent_and_not_written(service, way):
    name = f"read-{slug(way)}"
    ids = service.repository(name)
    before = service.read(name, WAYS[way].branch)
    service.received.clear()
    status, body = service.perform(WAYS[way], name, user(name, "fs:ReadObject"), ids)
    assert status == WAYS[way].status, body
    assert service.received == []
    assert service.read(name, WAYS[way].branch) == before
    assert PATH.encode() not in body
    if status == 200:
        assert (json.loads(body)["conflict_count"], json.loads(body)["settled"]) == (1, [])
    if status == 202:
        assert json.loads(body)["status_code"] == 409


@pytest.mark.parametrize("way", WAYS)
def test_a_result_that_the_caller_may_not_write_leaves_the_conflict_open(service, way):
    name = f"write-{slug(way)}"
    ids = service.repository(name)
    before = service.read(name, WAYS[way].branch)
    status, body = service.perform(WAYS[way], name, user(name, "fs:WriteObject"), ids)
    assert status == WAYS[way].status, body
    assert service.read(name, WAYS[way].branch) == before
    assert b"you may not write the object" in body


def test_a_hook_merges_with_the_rights_of_its_author_as_well(service):
    ids = service.repository("hook")
    service.received.clear()
    author = user("hook", "fs:ReadObject")
    actor = LimitedActor(Actor.administrator("admin"), [author], "hook")
    status, body = service.perform(WAYS["merge"], "hook", actor, ids)
    assert (status, service.received) == (409, []), body


def test_an_invalid_file_that_the_caller_may_not_read_is_not_quoted(service):
    service.repository("invalid", rules="rules:\n- {path: a, strategy: SECRET}\n")
    denied = Statement(Effect.DENY, ("fs:ReadObject",), (OBJECT.format("invalid")[:-9] + "_*",))
    for statements, told in (([ALLOW_ALL], True), ([ALLOW_ALL, denied], False)):
        actor = Actor(username="jane", statements=statements)
        status, body = service.call(actor, "POST", f"/repositories/invalid{MERGE}", {})
        assert status == 400
        assert (b"SECRET" in body) == told


def test_a_merge_on_a_server_that_names_no_caller_has_no_rights(service):
    service.repository("nobody")
    service.received.clear()
    with pytest.raises(MergeConflict):
        service.lake.refs.merge("nobody", "theirs", "mine", committer="ada")
    assert service.received == []


def test_every_operation_with_resolutions_is_among_the_ways():
    merging = {
        operation.id
        for operation in ALL_OPERATIONS
        if "resolutions" in getattr(operation.body, "__struct_fields__", ())
    }
    # the merge of a workspace is one of its pull request, without resolutions
    assert merging | {"mergeWorkspace"} == {way.operation for way in WAYS.values()}


def test_every_use_case_that_takes_rights_is_among_the_ways(service):
    found = {
        f"{noun}.{name}"
        for noun, cases in vars(service.lake).items()
        if type(cases).__module__.startswith("anabranch.")
        for name, method in inspect.getmembers(cases, inspect.ismethod)
        if "rights" in inspect.signature(method).parameters and not name.startswith("_")
    }
    applies_none = {"refs.row_conflicts"}  # test_row_conflicts.py has its rights
    assert found - applies_none == {way.use_case for way in WAYS.values()}


CALLS = re.compile(
    r"\bmerger\.(merge|preview|cherry_pick)\(|\breverter\.revert\(|\brebaser\.rebase\("
    r"|\b_?tree_mergers\.open\("
)


def test_only_these_modules_apply_rules():
    folder = Path(anabranch.__file__).parent
    sources = {path: path.read_text() for path in folder.rglob("*.py")}
    calling = {
        str(path.relative_to(folder)): len(CALLS.findall(text))
        for path, text in sources.items()
        if CALLS.search(text)
    }
    assert calling == {
        "catalog/references/branches.py": 2,
        "catalog/commits/rebase.py": 1,
        "catalog/references/refs.py": 2,
        "versioning/merging/merge.py": 5,
        "versioning/merging/rebase.py": 1,
        "versioning/merging/revert.py": 1,
    }
