"""The types of hooks on a running server, seen through its REST API."""

import re
import textwrap
import time

import httpx2
import pytest
from support.clients.s3_client import s3_client
from support.eventually import eventually
from support.hooks.misbehaving_webhook import misbehaving_webhook

from anabranch.testing.server import running_server

REPOSITORY = "flights"
TOKEN = "t0ken-of-the-server"


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    environment = {
        "ANABRANCH_ACTIONS_WEBHOOK_ALLOW": "127.0.0.1",
        "ANABRANCH_ACTIONS_ENV_BRANCHES": f"other/main,{REPOSITORY}/de?",
        "LAKEFSACTION_TOKEN": TOKEN,
        "SECRET_OF_SERVER": "hidden-value",
        "ANABRANCH_LOGGING_LEVEL": "TRACE",
    }
    with running_server(tmp_path_factory.mktemp("server"), env=environment) as server:
        yield server


class Client:
    """Operations of one user on one repository."""

    def __init__(self, server, auth):
        self.http = httpx2.Client(base_url=server.api, auth=auth, timeout=60)
        self.place = f"/repositories/{REPOSITORY}"

    def put(self, branch, path, content):
        place = f"{self.place}/branches/{branch}/objects"
        sent = self.http.post(place, params={"path": path}, content=content)
        assert sent.status_code == 201, sent.text

    def commit(self, branch, **metadata):
        body = {"message": "files", "metadata": metadata}
        return self.http.post(f"{self.place}/branches/{branch}/commits", json=body)

    def merge(self, source, destination):
        return self.http.post(f"{self.place}/refs/{source}/merge/{destination}", json={})

    def output(self):
        """Returns the output of the first hook of the last run."""
        (run, *_) = self.http.get(f"{self.place}/actions/runs").json()["results"]
        place = f"{self.place}/actions/runs/{run['run_id']}/hooks"
        (hook, *_) = self.http.get(place).json()["results"]
        return self.http.get(f"{place}/{hook['hook_run_id']}/output").text


@pytest.fixture
def admin(server):
    client = Client(server, server.auth)
    body = {"name": REPOSITORY, "storage_namespace": f"local://{time.time_ns()}"}
    assert client.http.post("/repositories", json=body).status_code == 201
    client.put("main", "old.txt", b"old")
    assert client.commit("main").status_code == 201
    body = {"name": "dev", "source": "main"}
    assert client.http.post(f"{client.place}/branches", json=body).status_code == 201
    yield client
    assert client.http.delete(client.place).status_code == 204
    client.http.close()


def act(client, event, type, properties, branch="main"):
    """Commits an action file with one hook."""
    indented = textwrap.indent(properties.strip(), " " * 6)
    text = f"name: act\non:\n  {event}:\nhooks:\n  - id: only\n    type: {type}\n    properties:\n"
    client.put(branch, "_lakefs_actions/act.yaml", (text + indented + "\n").encode())


def script(code):
    return "script: |\n" + textwrap.indent(textwrap.dedent(code).strip(), "  ")


def test_lua_reads_the_merged_result_before_it_is_merged(admin):
    code = """
        local lakefs, repo, merged = require("lakefs"), action.repository_id, action.merged_ref
        for _, path in ipairs({"old.txt", "new.txt", "none"}) do
          print(path, lakefs.get_object(repo, merged, path))
        end
        print((lakefs.get_object(repo, "main", "new.txt")))
        local _, page = lakefs.list_objects(repo, merged, "", "", "/")
        print(#page.results, action.source_ref ~= "", action.branch_id, username)
        local _, diff = lakefs.diff_refs(repo, "main", merged)
        for _, change in ipairs(diff.results) do print(change.type, change.path) end
        error("refused")
    """
    act(admin, "pre-merge", "lua", script(code), branch="dev")
    admin.put("dev", "new.txt", b"new")
    assert admin.commit("dev").status_code == 201
    refused = admin.merge("dev", "main")
    assert refused.status_code == 412
    assert "hook 'only': action failed: script:10: refused" in refused.json()["message"]
    lines = [line for line in admin.output().splitlines() if line]
    assert lines[:2] == ["old.txt\t200\told", "new.txt\t200\tnew"]
    assert lines[2].startswith("none\t404\t")
    assert lines[3:7] == [
        "404",
        "3\ttrue\tmain\ttester",
        "added\t_lakefs_actions/act.yaml",
        "added\tnew.txt",
    ]
    missing = admin.http.get(f"{admin.place}/refs/main/objects", params={"path": "new.txt"})
    assert missing.status_code == 404


@pytest.mark.slow
def test_an_endless_script_ends_with_412(admin):
    act(admin, "pre-commit", "lua", "timeout: 3s\n" + script("while true do end"), branch="dev")
    start = time.monotonic()
    refused = admin.commit("dev")
    assert time.monotonic() - start < 60
    assert refused.status_code == 412
    # says the script's own clock, or that of the process it runs in, whichever is first
    assert re.search(r"the (script|hook lua) did not finish within", refused.json()["message"])


def test_a_script_of_the_repository_sees_what_is_not_committed(admin):
    act(admin, "pre-commit", "lua", "script_path: scripts/a.lua", branch="dev")
    missing = admin.commit("dev")
    assert missing.status_code == 412
    assert "could not load script_path scripts/a.lua" in missing.json()["message"]
    code = """
        local lakefs = require("lakefs")
        local _, page = lakefs.diff_branch(action.repository_id, action.branch_id)
        for _, change in ipairs(page.results) do print(change.path) end
        print(action.commit.metadata.ticket)
    """
    admin.put("dev", "scripts/a.lua", textwrap.dedent(code).encode())
    assert admin.commit("dev", ticket="FL-7").status_code == 201
    assert admin.output() == "_lakefs_actions/act.yaml\nscripts/a.lua\nFL-7\n"


@pytest.fixture
def jane(admin, server):
    """A client of a user who may not read `secret/`, with the user's name."""
    policy = {
        "id": f"only-dev-{time.time_ns()}",
        "statement": [
            {"effect": "allow", "action": ["fs:List*", "fs:Read*"], "resource": "*"},
            {
                "effect": "allow",
                "action": ["fs:CreateCommit", "fs:WriteObject"],
                "resource": f"arn:lakefs:fs:::repository/{REPOSITORY}/*",
            },
            {
                "effect": "deny",
                "action": ["fs:ReadObject"],
                "resource": f"arn:lakefs:fs:::repository/{REPOSITORY}/object/secret/*",
            },
        ],
    }
    user = f"jane-{time.time_ns()}"
    assert admin.http.post("/auth/policies", json=policy).status_code == 201
    assert admin.http.post("/auth/users", json={"id": user}).status_code == 201
    attached = admin.http.put(f"/auth/users/{user}/policies/{policy['id']}")
    assert attached.status_code == 201
    keys = admin.http.post(f"/auth/users/{user}/credentials").json()
    jane = Client(server, (keys["access_key_id"], keys["secret_access_key"]))
    jane.user = user
    jane.keys = {name: keys[name] for name in ("access_key_id", "secret_access_key")}
    return jane


def test_a_script_may_do_what_its_user_may_do(admin, jane):
    code = """
        local lakefs, repo = require("lakefs"), action.repository_id
        print(username, (lakefs.get_object(repo, "dev", "secret/a")))
        print((lakefs.get_object(repo, "dev", "old.txt")))
        print((lakefs.create_tag(repo, "dev", "v1")))
    """
    act(admin, "pre-commit", "lua", script(code), branch="dev")
    admin.put("dev", "secret/a", b"hidden")
    assert admin.commit("dev").status_code == 201
    assert admin.output().splitlines() == ["tester\t200", "200", "201"]
    assert admin.http.delete(f"{admin.place}/tags/v1").status_code == 204
    jane.put("dev", "b", b"b")
    assert jane.commit("dev").status_code == 201
    assert admin.output().splitlines() == [f"{jane.user}\t401", "200", "401"]


def test_an_action_file_that_was_sent_by_s3_has_the_rights_of_its_sender(admin, jane, server):
    code = 'print(username, (require("lakefs").get_object("flights", "dev", "secret/a")))'
    act(admin, "pre-commit", "lua", script(code), branch="dev")
    admin.put("dev", "secret/a", b"hidden")
    assert admin.commit("dev").status_code == 201
    assert admin.output() == "tester\t200\n"
    name = "dev/_lakefs_actions/act.yaml"
    sent = s3_client(server._replace(**jane.keys)).put_object
    content = admin.http.get(
        f"{admin.place}/refs/dev/objects", params={"path": "_lakefs_actions/act.yaml"}
    ).content
    sent(Bucket=REPOSITORY, Key=name, Body=content + b"# sent\n")
    assert admin.commit("dev").status_code == 201
    assert admin.output() == "tester\t401\n"


def test_secrets_of_the_environment_reach_the_webhook_alone(admin, server):
    with misbehaving_webhook() as webhook:
        properties = f"""
url: {webhook.url("/echo")}
headers:
  X-Token: "{{{{ ENV.LAKEFSACTION_TOKEN }}}}"
"""
        act(admin, "pre-commit", "webhook", properties, branch="dev")
        refused = admin.commit("dev")  # the file is not on the branch yet
        assert refused.status_code == 412
        assert "_lakefs_actions/act.yaml is not on the branch dev" in refused.json()["message"]
        act(admin, "post-commit", "webhook", properties, branch="dev")
        assert admin.commit("dev").status_code == 201
        eventually(lambda: webhook.requests)
        (request,) = webhook.requests
        eventually(lambda: "X-Token" in admin.output())
    assert request.headers["x-token"] == TOKEN
    written = admin.output()
    assert "X-Token: ***" in written
    assert TOKEN not in written
    assert TOKEN not in server.log.read_text()


def test_variables_without_the_prefix_cannot_be_used(admin):
    properties = 'url: http://127.0.0.1/\nheaders: {X: "{{ ENV.SECRET_OF_SERVER }}"}'
    act(admin, "pre-commit", "webhook", properties, branch="dev")
    refused = admin.commit("dev")
    assert refused.status_code // 100 == 4
    assert "_lakefs_actions/act.yaml" in refused.json()["message"]
    assert "hooks cannot use the variable 'SECRET_OF_SERVER'" in refused.json()["message"]
    assert "hidden-value" not in refused.text


@pytest.mark.parametrize("url", ["http://169.254.169.254/latest/", "http://[::1]:8000/"])
def test_addresses_that_are_not_allowed_are_not_reached(admin, url):
    act(admin, "pre-commit", "webhook", f"url: '{url}'", branch="dev")
    refused = admin.commit("dev")
    assert refused.status_code == 412
    assert "is not permitted" in refused.json()["message"]


def test_a_check_sees_the_merged_result(admin):
    rules = """
tables:
  - {path: "t/*.csv", unique: [id], together: true}
commit_metadata: [ticket]
"""
    admin.put("main", "t/1.csv", b"id\n1\n")
    act(admin, "pre-merge", "check", rules)
    assert admin.commit("main").status_code == 201
    admin.put("dev", "t/2.csv", b"id\n2\n1\n")
    assert admin.commit("dev").status_code == 201
    place = f"{admin.place}/refs/dev/merge/main"
    refused = admin.http.post(place, json={})
    assert refused.status_code == 412
    assert "the commit has no metadata ticket" in refused.json()["message"]
    refused = admin.http.post(place, json={"metadata": {"ticket": "FL-7"}})
    assert refused.status_code == 412
    assert "t/2.csv, row 2: the key id='1' is also in t/1.csv, row 1" in refused.json()["message"]
    admin.put("dev", "t/2.csv", b"id\n2\n3\n")
    assert admin.commit("dev").status_code == 201
    assert admin.http.post(place, json={"metadata": {"ticket": "FL-7"}}).status_code == 200


def test_a_network_that_is_none_stops_the_server(tmp_path):
    environment = {"ANABRANCH_ACTIONS_WEBHOOK_ALLOW": "10.0.0.0/99"}
    starting = running_server(tmp_path, env=environment)
    with (
        pytest.raises(AssertionError, match=r"actions\.webhook\.allow: .*10\.0\.0\.0/99"),
        starting,
    ):
        pass
