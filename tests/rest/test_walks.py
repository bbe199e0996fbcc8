"""What a request says travels to the store, or to what decides by it, without callbacks: no
function on the way is made within another one. ARCHITECTURE.md lists the files of these walks.
"""

from __future__ import annotations

import json
import re
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest
from support.checkout import ROOT

import anabranch
from anabranch.access.actors.actor import Actor
from anabranch.access.policies.statements import ALLOW_ALL
from anabranch.model.secret import Secret
from anabranch.rest.gateway import RestGateway
from anabranch.server.composition import Composition
from anabranch.server.config.field import build

PACKAGE = Path(anabranch.__file__).parent
ARCHITECTURE = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
MARK = "words-of-one-request"


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """A server in this process, with a repository."""
    folder = tmp_path_factory.mktemp("data")
    composition = Composition(
        build(
            {
                "data": folder,
                "database.type": "mem",
                "blockstore.local.path": folder / "block",
                "blockstore.signing.secret_key": Secret("another secret, long enough"),
                "auth.encrypt.secret_key": Secret("a secret, long enough"),
                "committed.local_cache.dir": folder / "cache",
            }
        )
    )
    lake = composition.lake
    lake.repositories.create("repo", "local://repo")
    lake.objects.upload("repo", "main", "a.txt", [b"1\n2\n3\n4\n5\n"])
    lake.commits.commit("repo", "main", message="m", committer="ada")
    lake.branches.create("repo", "theirs", "main")
    for branch, text in (("main", b"one\n2\n3\n4\n5\n"), ("theirs", b"1\n2\n3\n4\nfive\n")):
        lake.objects.upload("repo", branch, "a.txt", [text])
        lake.commits.commit("repo", branch, message="m", committer="ada")
    yield composition
    composition.close()


@contextmanager
def walks(file, function, is_wanted):
    """Collects the functions of the package through which each wanted call of one came."""
    found = []

    def on_event(frame, event, _):
        code = frame.f_code
        if event != "call" or code.co_name != function or not code.co_filename.endswith(file):
            return
        if is_wanted(frame.f_locals):
            found.append(list(callers(frame)))

    sys.setprofile(on_event)
    try:
        yield found
    finally:
        sys.setprofile(None)


def callers(frame):
    """Yields the file and the qualified name of each function of the package, the last first."""
    while frame is not None:
        code = frame.f_code
        if code.co_filename.startswith(str(PACKAGE)):
            yield str(Path(code.co_filename).relative_to(PACKAGE)), code.co_qualname
        frame = frame.f_back


def writes_mark(variables):
    return any(MARK.encode() in (write.value or b"") for write in variables["writes"])


def any_call(_):
    return True


STORE = ("keyvalue/memory.py", "apply", writes_mark)
STRATEGY = ("versioning/strategies/text.py", "merge", any_call)
STATEMENT = {
    "effect": "allow",
    "action": ["fs:*"],
    "resource": f"arn:lakefs:fs:::repository/{MARK}",
}
WALKS = {
    "a commit's message": (
        STORE,
        ("POST", "/repositories/repo/branches/main/commits", {"message": MARK}),
    ),
    "a statement of a policy": (
        STORE,
        ("POST", "/auth/policies", {"id": "p", "statement": [STATEMENT]}),
    ),
    "a merge's strategy": (
        STRATEGY,
        (
            "POST",
            "/repositories/repo/refs/theirs/merge/main",
            {"resolutions": [{"path": "a.txt", "strategy": "text"}]},
        ),
    ),
}


@pytest.mark.parametrize("name", WALKS)
def test_a_walk_holds_no_callback_and_is_the_documented_one(server, name):
    end, request = WALKS[name]
    server.lake.objects.upload("repo", "main", name, [b"staged"])
    if name == "a merge's strategy":
        server.lake.commits.commit("repo", "main", message="m", committer="ada")
    with walks(*end) as found:
        send(server, *request)
    (walk,) = found
    assert [function for _, function in walk if "<" in function] == []
    files = list(dict.fromkeys(file for file, _ in reversed(walk)))
    assert files[:2] == ["rest/gateway.py", "rest/protocol/operation_handler.py"]
    end_of_store = files[-1].replace("keyvalue/memory.py", "the store")
    assert [*files[2:-1], end_of_store] == documented(name)


def send(server, method, path, body):
    actor = Actor(username="ada", statements=[ALLOW_ALL])
    content = json.dumps(body).encode()
    response = RestGateway(server.services).perform(actor, method, path, "", content, hook_run="")
    assert response.status in (200, 201), response.body


def documented(name):
    """Returns the files of a walk that ARCHITECTURE.md lists."""
    (row,) = re.findall(rf"^\| {name} \| (.*) \|$", ARCHITECTURE, re.MULTILINE | re.IGNORECASE)
    return [file.strip("`") for file in row.split(" → ")]
