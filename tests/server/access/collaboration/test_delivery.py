"""Notifications of a running server: who has caused what, and no log with an address."""

from __future__ import annotations

import httpx2
import pytest
from support.eventually import eventually
from support.hooks.deciding_webhook import deciding_webhook

from anabranch.testing.server import USER_NAME, running_server

SECRET = "cedfca83"


@pytest.mark.slow
def test_server_sends_what_users_do_and_logs_no_address(tmp_path):
    env = {"ANABRANCH_ACTIONS_WEBHOOK_ALLOW": "127.0.0.1", "ANABRANCH_LOGGING_LEVEL": "DEBUG"}
    with (
        deciding_webhook(lambda event: event["event"] != "commented") as receiver,
        running_server(tmp_path, env=env) as server,
        httpx2.Client(base_url=server.api, auth=server.auth, timeout=60) as api,
    ):
        body = {"name": "sea", "storage_namespace": "local://sea"}
        assert api.post("/repositories", json=body).status_code == 201
        root = "/repositories/sea"
        url = f"{receiver.url}/{SECRET}?token={SECRET}"
        assert api.post(f"{root}/settings/notifications", json={"url": url}).status_code == 201
        api.post(f"{root}/branches", json={"name": "fix", "source": "main"})
        api.post(f"{root}/branches/fix/objects?path=a", content=b"1")
        api.post(f"{root}/branches/fix/commits", json={"message": "m"})
        api.post("/auth/users", json={"id": "bob"})
        api.put("/auth/groups/Viewers/members/bob")
        pull = {"title": "t", "source_branch": "fix", "destination_branch": "main"}
        path = f"{root}/pulls/{api.post(f'{root}/pulls', json=pull).json()['id']}"
        assert api.patch(f"{path}/reviewers", json={"add": [{"name": "bob"}]}).is_success
        assert api.post(f"{path}/comments", json={"text": "hm"}).is_success
        assert api.put(f"{path}/merge").is_success
        expected = {
            ("pull_request_opened", USER_NAME),
            ("review_requested", USER_NAME),
            ("commented", USER_NAME),
            ("pull_request_merged", USER_NAME),
        }
        eventually(
            lambda: {(event["event"], event["user"]) for event in receiver.events} == expected
        )
        eventually(lambda: "failed: status 400" in server.log.read_text())
        assert SECRET not in server.log.read_text()
