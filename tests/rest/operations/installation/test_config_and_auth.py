"""Configuration, health checks, users and logins over HTTP."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import httpx2
import pytest


@pytest.fixture
def anonymous(server):
    with httpx2.Client(base_url=server.api) as client:
        yield client


def test_a_health_check_needs_no_credentials(anonymous, server):
    response = anonymous.get("/healthcheck")
    assert (response.status_code, response.content) == (204, b"")
    assert httpx2.get(f"{server.url}/_health").text == "alive!"


def test_the_configuration_describes_the_store(api):
    config = api.get("/config").json()
    assert config == {
        "capabilities_config": {},
        "storage_config": api.get("/config/storage").json(),
        "storage_config_list": [],
        "ui_config": {},
        "version_config": api.get("/config/version").json(),
    }
    assert config["storage_config"] == {
        "blockstore_namespace_ValidityRegex": "^local://",
        "blockstore_namespace_example": "local://example-bucket/",
        "blockstore_type": "local",
        "default_namespace_prefix": "local://data/",
        "import_support": False,
        "import_validity_regex": "",
        "pre_sign_multipart_upload": False,
        "pre_sign_support": False,
        "pre_sign_support_ui": False,
    }
    version = config["version_config"]
    assert (version["version"], version["version_context"]) == ("1.84.0", "lakeFS")
    assert version["anabranch_version"]
    assert api.get("/config/garbage-collection").text == '{"grace_period":86400}\n'


def test_statistics_are_validated_and_discarded(api):
    event = {"class": "tests", "name": "run", "count": 1}
    assert api.post("/statistics", json={"events": [event]}).status_code == 204
    assert api.post("/statistics", json={"events": [event | {"count": -1}]}).status_code == 400
    assert api.post("/statistics", json={"events": [{"class": "x"}]}).status_code == 400


def test_setup_succeeds_once(anonymous):
    state = anonymous.get("/setup_lakefs").json()
    assert state["state"] == "initialized"
    assert state["comm_prefs_missing"] is False
    assert state["login_config"]["RBAC"] == "internal"
    assert state["login_config"]["login_cookie_names"] == ["internal_auth_session"]
    again = anonymous.post("/setup_lakefs", json={"username": "other"})
    assert (again.status_code, again.json()) == (409, {"message": "lakeFS already initialized"})
    assert anonymous.post("/setup_lakefs", json={}).status_code == 400
    preferences = {"featureUpdates": True, "securityUpdates": False, "email": "a@b.c"}
    response = anonymous.post("/setup_comm_prefs", json=preferences)
    assert (response.status_code, response.content) == (200, b"")


def test_a_login_returns_a_token_and_a_cookie(anonymous, server):
    body = {"access_key_id": server.access_key_id, "secret_access_key": server.secret_access_key}
    response = anonymous.post("/auth/login", json=body)
    assert response.status_code == 200
    assert sorted(response.json()) == ["token", "token_expiration"]
    token = response.json()["token"]
    cookie = response.headers["set-cookie"]
    lifetime = int(cookie.split("Max-Age=")[1].split(";")[0])
    assert 7 * 86400 - 60 < lifetime <= 7 * 86400
    assert cookie == (
        f"internal_auth_session={token}; Path=/; Max-Age={lifetime}; HttpOnly; SameSite=Strict"
    )
    anonymous.cookies.clear()
    bearer = anonymous.get("/user", headers={"authorization": f"Bearer {token}"})
    assert bearer.json()["user"]["id"] == "tester"
    by_cookie = anonymous.get(
        "/repositories", headers={"cookie": f"a=b; internal_auth_session={token}; c=d"}
    )
    assert by_cookie.status_code == 200
    bad = anonymous.get("/repositories", headers={"cookie": "internal_auth_session=abc"})
    assert bad.status_code == 401
    wrong = anonymous.post("/auth/login", json=body | {"secret_access_key": "wrong"})
    assert (wrong.status_code, wrong.json()) == (401, {"message": "error authenticating request"})


def test_logging_out_deletes_the_cookie(server):
    response = httpx2.get(f"{server.url}/logout", follow_redirects=False)
    assert response.status_code == 307
    assert response.headers["location"] == "/auth/login"
    assert response.headers["set-cookie"].startswith("internal_auth_session=; Path=/; Max-Age=0")


@pytest.mark.parametrize("sent_in", ["cookie", "header"])
def test_logging_out_revokes_the_token(server, anonymous, sent_in):
    body = {"access_key_id": server.access_key_id, "secret_access_key": server.secret_access_key}
    token, other = (anonymous.post("/auth/login", json=body).json()["token"] for _ in range(2))
    headers = {"authorization": f"Bearer {token}"}
    assert anonymous.get("/repositories", headers=headers).status_code == 200
    sent = headers if sent_in == "header" else {"cookie": f"internal_auth_session={token}"}
    response = httpx2.get(f"{server.url}/logout", headers=sent, follow_redirects=False)
    assert response.status_code == 307
    assert anonymous.get("/repositories", headers=headers).status_code == 401
    again = httpx2.get(f"{server.url}/logout", headers=sent, follow_redirects=False)
    assert again.status_code == 307
    headers = {"authorization": f"Bearer {other}"}
    assert anonymous.get("/repositories", headers=headers).status_code == 200


def test_an_administrator_ends_the_sessions_of_a_user_and_deactivates_the_user(api, anonymous):
    assert api.post("/auth/users", json={"id": "leaver"}).status_code == 201
    pair = api.post("/auth/users/leaver/credentials").json()
    names = ("access_key_id", "secret_access_key")
    body = {name: pair[name] for name in names}
    basic = (pair["access_key_id"], pair["secret_access_key"])

    def statuses(token):
        headers = {"authorization": f"Bearer {token}"}
        anonymous.cookies.clear()
        key = anonymous.get("/user", auth=basic).status_code
        return key, anonymous.get("/user", headers=headers).status_code

    token = anonymous.post("/auth/login", json=body).json()["token"]
    assert statuses(token) == (200, 200)
    assert anonymous.delete("/auth/users/leaver/sessions", auth=basic).status_code == 401
    assert anonymous.patch("/auth/users/leaver", json={"active": False}, auth=basic).is_error
    assert api.delete("/auth/users/leaver/sessions").status_code == 204
    assert statuses(token) == (200, 401)
    token = anonymous.post("/auth/login", json=body).json()["token"]
    changed = api.patch("/auth/users/leaver", json={"active": False})
    assert (changed.status_code, changed.json()["active"]) == (200, False)
    assert api.get("/auth/users/leaver").json() == changed.json()
    listed = api.get("/auth/users", params={"prefix": "leaver"}).json()
    assert listed["results"] == [changed.json()]
    assert statuses(token) == (401, 401)
    assert api.patch("/auth/users/leaver", json={"active": True}).status_code == 200
    assert statuses(token) == (200, 401)
    assert api.delete("/auth/users/other/sessions").status_code == 404
    assert api.patch("/auth/users/other", json={"active": True}).status_code == 404
    assert api.delete("/auth/users/leaver").status_code == 204
    last = api.patch("/auth/users/tester", json={"active": False})
    assert last.status_code == 409


def test_the_current_user_is_returned(api, anonymous):
    assert anonymous.get("/user").text == '{"user":{"creation_date":0,"id":""}}\n'
    wrong = anonymous.get("/user", headers={"authorization": "Basic eDp5"})
    assert wrong.status_code == 401
    user = api.get("/user").json()["user"]
    assert user == {
        "creation_date": user["creation_date"],
        "email": "",
        "friendly_name": "",
        "id": "tester",
    }
    assert api.get("/auth/users/tester").json() == user
    assert api.get("/auth/users", params={"prefix": "tester"}).json() == {
        "pagination": {"has_more": False, "max_per_page": 0, "next_offset": "", "results": 1},
        "results": [user],
    }
    assert api.get("/auth/users", params={"prefix": "x"}).json()["results"] == []
    assert api.get("/auth/users", params={"after": "tester"}).json()["results"] == []


def test_missing_users_and_credentials_are_not_found(api, server):
    assert api.get("/auth/users/other").json() == {"message": "user not found"}
    duplicate = api.post("/auth/users", json={"id": "tester"})
    assert (duplicate.status_code, duplicate.json()) == (409, {"message": "Already exists"})
    assert api.post("/auth/users/other/credentials").status_code == 404
    key = api.get(f"/auth/users/tester/credentials/{server.access_key_id}")
    assert sorted(key.json()) == ["access_key_id", "creation_date"]
    for path in (f"other/credentials/{server.access_key_id}", "tester/credentials/AKIAJNOPE"):
        assert api.get(f"/auth/users/{path}").status_code == 404
    assert api.delete("/auth/users/other").status_code == 404


def test_the_last_administrator_cannot_be_deleted(api, server):
    key = f"/auth/users/tester/credentials/{server.access_key_id}"
    with ThreadPoolExecutor(2) as pool:
        responses = list(pool.map(lambda _: api.delete("/auth/users/tester"), range(2)))
    for response in responses:
        assert response.status_code == 409
        assert response.json() == {
            "message": "the last administrator cannot be removed, nor lose the permissions of one, "
            "nor the last access key"
        }
        assert response.headers["x-anabranch-kind"] == "last_administrator"
        assert "auth recover" in response.headers["x-anabranch-hint"]
    assert api.get(key).status_code == 200
    assert api.get("/user").json()["user"]["id"] == "tester"


def test_logins_by_an_authorization_server_are_not_implemented(anonymous):
    assert anonymous.get("/auth/capabilities").text == '{"invite_user":false}\n'
    assert anonymous.get("/oidc/callback").status_code == 200
    identity = {"identityRequest": {"identity_token": "x"}}
    code = {"code": "x", "state": "x", "redirect_uri": "x"}
    for path, body in (("/auth/external/principal/login", identity), ("/sts/login", code)):
        response = anonymous.post(path, json=body)
        assert (response.status_code, response.json()) == (501, {"message": "Not Implemented"})
