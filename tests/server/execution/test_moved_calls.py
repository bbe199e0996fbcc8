"""Calls of the batch thread that turn out to take longer: they are made again on other threads.

The hooks here make uploads, for which the batch thread must be free.
"""

from __future__ import annotations

import json

import httpx2
import pytest
from support.hooks.deciding_webhook import deciding_webhook

from anabranch.testing.server import running_server

REPOSITORY = "/repositories/sea"
ACTION = """
on: {{pre-create-branch: , pre-delete-branch: , pre-create-tag: , pre-delete-tag: }}
hooks:
- id: ask
  type: webhook
  properties: {{url: '{url}'}}
"""


@pytest.fixture(scope="module")
def audit_log(tmp_path_factory):
    return tmp_path_factory.mktemp("audit") / "log"


@pytest.fixture(scope="module")
def api(tmp_path_factory, audit_log):
    env = {
        "ANABRANCH_ACTIONS_WEBHOOK_ALLOW": "127.0.0.1",
        "ANABRANCH_AUDIT_FILE": str(audit_log),
    }
    with (
        running_server(tmp_path_factory.mktemp("server"), env=env) as server,
        httpx2.Client(base_url=server.api, auth=server.auth, timeout=60) as client,
    ):
        body = {"name": "sea", "storage_namespace": "local://sea"}
        assert client.post("/repositories", json=body).status_code == 201
        body = {"name": "other", "source": "main"}
        assert client.post(f"{REPOSITORY}/branches", json=body).status_code == 201
        yield client
    records = map(json.loads, audit_log.read_text().splitlines())
    decisions = [
        (record["request_id"], record["action"], record["resource"])
        for record in records
        if record["event"] == "decision"
    ]
    assert len(decisions) == len(set(decisions)), "each decision of a request is recorded once"


def put(api, branch, path, content):
    response = api.post(
        f"{REPOSITORY}/branches/{branch}/objects",
        params={"path": path},
        content=content.encode(),
        headers={"content-type": "application/octet-stream"},
    )
    assert response.status_code == 201, response.text


def commit(api, branch):
    response = api.post(f"{REPOSITORY}/branches/{branch}/commits", json={"message": "x"})
    assert response.status_code == 201, response.text


@pytest.mark.parametrize("allowed", [True, False])
def test_hooks_of_references_delay_no_batched_call(api, allowed):
    paths = []

    def decide(_event):
        paths.append(f"{allowed}-{len(paths)}")
        put(api, "other", paths[-1], "x")
        return allowed

    name = f"hooked-{allowed}"
    changes = [
        ("POST", "branches", {"name": f"{name}-dev", "source": name}),
        ("DELETE", f"branches/{name}-dev", None),
        ("POST", "tags", {"id": f"{name}-v1", "ref": name}),
        ("DELETE", f"tags/{name}-v1", None),
    ]
    body = {"name": name, "source": "main"}
    assert api.post(f"{REPOSITORY}/branches", json=body).status_code == 201
    with deciding_webhook(decide) as webhook:
        put(api, name, "_lakefs_actions/action.yaml", ACTION.format(url=webhook.url))
        commit(api, name)
        answered = [
            api.request(method, f"{REPOSITORY}/{path}", json=body).status_code
            for method, path, body in changes
        ]
    assert answered == ([201, 204, 201, 204] if allowed else [412, 404, 412, 404])
    assert len(webhook.events) == (4 if allowed else 2)
    listed = api.get(f"{REPOSITORY}/refs/other/objects/ls").json()["results"]
    assert {each["path"] for each in listed} >= set(paths)


def test_a_source_that_is_an_expression_is_found(api):
    put(api, "other", "more", "x")
    commit(api, "other")
    for source in ("other~1", "main@"):
        body = {"name": "from", "source": source}
        assert api.post(f"{REPOSITORY}/branches", json=body).status_code == 201
        assert api.delete(f"{REPOSITORY}/branches/from").status_code == 204
