"""Hooks that change the repository: by their own requests and by those of a webhook's receiver."""

from __future__ import annotations

import httpx2
import pytest
from support.eventually import eventually
from support.hooks.deciding_webhook import deciding_webhook

from anabranch.testing.server import running_server

REPOSITORY = "/repositories/sea"


@pytest.fixture(scope="module")
def api(tmp_path_factory):
    env = {"ANABRANCH_ACTIONS_WEBHOOK_ALLOW": "127.0.0.1"}
    with (
        running_server(tmp_path_factory.mktemp("server"), env=env) as server,
        httpx2.Client(base_url=server.api, auth=server.auth, timeout=60) as client,
    ):
        body = {"name": "sea", "storage_namespace": "local://sea"}
        assert client.post("/repositories", json=body).status_code == 201
        yield client


def put(api, branch, path, content="x"):
    response = api.post(
        f"{REPOSITORY}/branches/{branch}/objects",
        params={"path": path},
        content=content.encode(),
        headers={"content-type": "application/octet-stream"},
    )
    assert response.status_code == 201, response.text


def commit(api, branch, **headers):
    return api.post(
        f"{REPOSITORY}/branches/{branch}/commits", json={"message": "x"}, headers=headers
    )


def new_branch(api, name, action):
    body = {"name": name, "source": "main"}
    assert api.post(f"{REPOSITORY}/branches", json=body).status_code == 201
    put(api, name, "_lakefs_actions/action.yaml", action)


def test_receiver_of_a_webhook_that_commits_to_its_own_branch_is_refused(api):
    answers = []

    def decide(event):
        put(api, "own", f"again-{len(answers)}.txt")
        # a receiver passes on the run that it works for
        run = {"X-Anabranch-Run-Id": event["run_id"]}
        answers.append(commit(api, "own", **run))
        put(api, "other", f"{event['run_id']}.txt")
        answers.append(commit(api, "other", **run))
        return True

    with deciding_webhook(decide) as webhook:
        body = {"name": "other", "source": "main"}
        assert api.post(f"{REPOSITORY}/branches", json=body).status_code == 201
        new_branch(
            api,
            "own",
            "on: {post-commit: }\nhooks:\n- id: ask\n  type: webhook\n"
            f"  properties: {{url: '{webhook.url}'}}\n",
        )
        assert commit(api, "own").status_code == 201
        eventually(lambda: len(answers) == 2)
        refused, allowed = answers
        assert refused.status_code == 409
        assert refused.headers["x-anabranch-kind"] == "hook_loop"
        assert (
            "a hook that runs on a change of sea/own must not change it"
            in (refused.json()["message"])
        )
        assert allowed.status_code == 201
        assert len(webhook.events) == 1


def test_script_that_changes_its_own_tags_is_refused_in_process(api):
    pytest.importorskip("lupa")
    new_branch(
        api,
        "tagging",
        "on: {pre-create-tag: }\nhooks:\n- id: again\n  type: lua\n  properties:\n    script: |\n"
        "      local lakefs = require('lakefs')\n"
        "      local code, answer = lakefs.create_tag(action.repository_id, 'main', 'again')\n"
        "      print(code, answer.message)\n"
        "      if code ~= 409 then error('it was not refused: ' .. tostring(code)) end\n",
    )
    assert commit(api, "tagging").status_code == 201
    tagged = api.post(f"{REPOSITORY}/tags", json={"id": "v1", "ref": "tagging"})
    assert tagged.status_code == 201, tagged.text
    assert [tag["id"] for tag in api.get(f"{REPOSITORY}/tags").json()["results"]] == ["v1"]
