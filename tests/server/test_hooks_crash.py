"""Servers that are killed while hooks run, before and after a change."""

from __future__ import annotations

import contextlib
import threading

import httpx2
import pytest
from support.eventually import eventually
from support.hooks.deciding_webhook import deciding_webhook
from support.hooks.leases import end_leases

from anabranch.testing.server import running_server

ALLOW = {"ANABRANCH_ACTIONS_WEBHOOK_ALLOW": "127.0.0.1"}
REPOSITORY = "/repositories/sea"


def client_of(server):
    return httpx2.Client(base_url=server.api, auth=server.auth, timeout=60)


def put(api, path, content=b"x"):
    response = api.post(
        f"{REPOSITORY}/branches/main/objects",
        params={"path": path},
        content=content,
        headers={"content-type": "application/octet-stream"},
    )
    assert response.status_code == 201, response.text


def commit(api):
    return api.post(f"{REPOSITORY}/branches/main/commits", json={"message": "a commit"})


@pytest.mark.parametrize("event", ["prepare-commit", "pre-commit", "post-commit"])
@pytest.mark.sample(1)
def test_killed_server_loses_no_event_and_leaves_a_run_that_says_so(tmp_path, event):
    hanging = threading.Event()
    action = f"name: gate\non: {{{event}: }}\nhooks:\n- id: ask\n  type: webhook\n"
    with deciding_webhook() as webhook:
        action += f"  properties: {{url: '{webhook.url}'}}\n"
        with running_server(tmp_path, env=ALLOW) as server, client_of(server) as api:
            body = {"name": "sea", "storage_namespace": "local://sea"}
            assert api.post("/repositories", json=body).status_code == 201
            put(api, "_lakefs_actions/gate.yaml", action.encode())
            assert commit(api).status_code == 201
            eventually(lambda: api.get(f"{REPOSITORY}/actions/runs").json()["results"])
            head = api.get(f"{REPOSITORY}/branches/main").json()["commit_id"]
            webhook.events.clear()
            webhook.decide = lambda _: hanging.wait(60)
            put(api, "a.txt")
            committing = threading.Thread(target=_commit_until_killed, args=(api,))
            committing.start()
            eventually(lambda: webhook.events)
            server.process.kill()
            server.process.wait()
            committing.join()
        first = webhook.events[0]
        end_leases(tmp_path)
        webhook.decide = lambda _: True
        hanging.set()
        with running_server(tmp_path, env=ALLOW) as server, client_of(server) as api:
            path = f"{REPOSITORY}/actions/runs/{first['run_id']}"
            eventually(lambda: api.get(path).status_code == 200)
            run = api.get(path).json()
            assert (run["status"], run["event_type"]) == ("failed", event)
            output = api.get(f"{path}/hooks/0000_0000/output").text
            assert "the server that ran this hook has stopped" in output
            now = api.get(f"{REPOSITORY}/branches/main").json()["commit_id"]
            if event == "post-commit":
                # the change was made, and its hook runs again
                assert now == first["commit_id"]
                eventually(lambda: len(webhook.events) == 2)
                again = webhook.events[1]
                assert again["commit_id"] == now
                assert again["event_id"] == webhook.events[0]["event_id"]
                assert again["run_id"] != webhook.events[0]["run_id"]
                eventually(
                    lambda: api.get(f"{REPOSITORY}/actions/runs/{again['run_id']}").is_success
                )
                assert api.get(f"{REPOSITORY}/actions/runs/{again['run_id']}").json()["status"] == (
                    "completed"
                )
            else:
                # the change was not made, and can be made now
                assert now == head
                assert commit(api).json()["parents"] == [head]


def _commit_until_killed(api):
    with contextlib.suppress(httpx2.HTTPError):
        commit(api)


@pytest.mark.slow
def test_server_that_is_stopped_lets_the_next_one_go_on(tmp_path):
    hanging = threading.Event()
    with deciding_webhook(lambda _: hanging.wait(60)) as webhook:
        action = (
            "name: gate\non: {post-commit: }\nhooks:\n- id: ask\n  type: webhook\n"
            f"  properties: {{url: '{webhook.url}'}}\n"
        )
        with running_server(tmp_path, env=ALLOW) as server, client_of(server) as api:
            body = {"name": "sea", "storage_namespace": "local://sea"}
            assert api.post("/repositories", json=body).status_code == 201
            put(api, "_lakefs_actions/gate.yaml", action.encode())
            made = commit(api).json()["id"]
            eventually(lambda: webhook.events)
            hanging.set()
        with running_server(tmp_path, env=ALLOW) as server, client_of(server) as api:
            eventually(lambda: api.get(f"{REPOSITORY}/actions/runs").json()["results"])
            [run] = api.get(f"{REPOSITORY}/actions/runs", params={"commit": made}).json()["results"]
            assert run["status"] == "completed"
