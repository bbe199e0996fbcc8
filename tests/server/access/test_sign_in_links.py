"""Links that sign in: who may make them, what a browser gets, and what a real server logs."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor

import httpx2
import pytest
from support.eventually import eventually

from anabranch.testing.server import running_server
from tests.server.observability.complete_lines import complete_lines

OWN_PAGE = {"Sec-Fetch-Site": "same-origin"}


@pytest.fixture(scope="module")
def audit_file(tmp_path_factory):
    return tmp_path_factory.mktemp("audit") / "audit.log"


@pytest.fixture(scope="module")
def lake(tmp_path_factory, audit_file):
    """A server with two processes, which writes down all that it can."""
    env = {"ANABRANCH_LOGGING_LEVEL": "debug", "ANABRANCH_AUDIT_FILE": str(audit_file)}
    with running_server(tmp_path_factory.mktemp("links"), workers=2, env=env) as server:
        yield server


@pytest.fixture
def admin(lake):
    with httpx2.Client(base_url=lake.api, auth=lake.auth, timeout=60) as client:
        yield client


@pytest.fixture
def browser(lake):
    with httpx2.Client(base_url=lake.api, headers=OWN_PAGE, timeout=60) as client:
        yield client


def made(client) -> dict[str, str]:
    response = client.post("/auth/links")
    assert response.status_code == 201, response.text
    assert response.headers["cache-control"] == "no-store"
    link = response.json()
    return {"username": link["username"], "code": link["code"]}


def new_user(admin, name):
    assert admin.post("/auth/users", json={"id": name}).status_code == 201
    pair = admin.post(f"/auth/users/{name}/credentials").json()
    return pair["access_key_id"], pair["secret_access_key"]


def use(browser, link, **more):
    return browser.post("/auth/links/use", json=link | more)


def kind(response):
    return response.status_code, response.headers.get("x-anabranch-kind")


def test_a_link_gives_a_browser_a_cookie_and_scripts_nothing(browser, admin):
    response = use(browser, made(admin))
    assert (response.status_code, response.content) == (204, b"")
    assert "HttpOnly; SameSite=Strict" in response.headers["set-cookie"]
    assert response.headers["cache-control"] == "no-store"
    assert browser.get("/user").json()["user"]["id"] == "tester"


def test_of_many_uses_at_once_on_several_processes_one_succeeds(lake, admin):
    link = made(admin)

    def attempt(_):
        return httpx2.post(f"{lake.api}/auth/links/use", json=link, timeout=60)

    with ThreadPoolExecutor(8) as pool:
        responses = list(pool.map(attempt, range(16)))
    assert sorted(response.status_code for response in responses) == [204, *[400] * 15]
    assert {kind(each)[1] for each in responses if each.status_code == 400} == {"sign_in_link"}
    assert sum("set-cookie" in each.headers for each in responses) == 1


@pytest.mark.parametrize("how", ["anonymous", "token", "cookie", "wrong secret", "both"])
def test_only_an_access_key_makes_a_link(lake, admin, browser, how):
    use(browser, made(admin))
    token = browser.cookies["internal_auth_session"]
    client = httpx2.Client(base_url=lake.api, headers=OWN_PAGE, timeout=60)
    if how == "token":
        client.headers["Authorization"] = f"Bearer {token}"
    elif how == "wrong secret":
        client.auth = (lake.access_key_id, "wrong")
    elif how != "anonymous":
        client.cookies.set("internal_auth_session", token)
        if how == "both":  # a scheme that is ignored leaves the cookie
            client.headers["Authorization"] = "Other dGVzdGVyOng="
    with client:
        response = client.post("/auth/links")
    assert response.status_code in {401, 403}
    assert "code" not in response.json()
    if how in {"token", "cookie", "both"}:
        assert kind(response) == (403, "access_key_needed")


def test_another_site_signs_nobody_in(lake, admin):
    link = made(admin)
    for headers in (
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Origin": "https://evil.example.com"},
        {"Origin": "null"},
    ):
        response = httpx2.post(f"{lake.api}/auth/links/use", json=link, headers=headers)
        assert kind(response) == (403, "cross_site")
        assert "set-cookie" not in response.headers
    for body in (b"", b"[]", b'{"username": "tester"}', b'{"username": "tester", "code": 1}'):
        response = httpx2.post(f"{lake.api}/auth/links/use", content=body)
        assert response.status_code == 400
    assert kind(httpx2.post(f"{lake.api}/auth/links/use", json=link | {"next": "/"}))[0] == 400
    assert use(httpx2.Client(base_url=lake.api, headers=OWN_PAGE), link).status_code == 204


def test_the_link_of_a_colleague_asks_first_and_that_does_not_use_it_up(lake, admin, browser):
    pair = new_user(admin, "mallory")
    with httpx2.Client(base_url=lake.api, auth=pair) as mallory:
        link = made(mallory)
    assert link["username"] == "mallory"
    assert kind(use(browser, link)) == (409, "sign_in_not_confirmed")
    assert kind(use(browser, link | {"username": "tester"}, confirmed=True)) == (
        400,
        "sign_in_link",
    )
    assert browser.cookies.get("internal_auth_session") is None
    assert use(browser, link, confirmed=True).status_code == 204
    assert browser.get("/user").json()["user"]["id"] == "mallory"


@pytest.mark.parametrize("end", ["user", "key", "sessions"])
def test_links_end_with_what_they_depend_on(lake, admin, browser, end):
    name = f"leaver-{end}"
    pair = new_user(admin, name)
    with httpx2.Client(base_url=lake.api, auth=pair) as leaver:
        links = [made(leaver) for _ in range(2)]
    assert use(browser, links[0], confirmed=True).status_code == 204
    path = {"key": f"/credentials/{pair[0]}", "sessions": "/sessions"}.get(end, "")
    assert admin.delete(f"/auth/users/{name}{path}").status_code == 204
    assert kind(use(browser, links[1], confirmed=True)) == (400, "sign_in_link")
    if end == "user":
        new_user(admin, name)
        assert kind(use(browser, links[1], confirmed=True)) == (400, "sign_in_link")


def test_no_log_has_a_code_and_the_audit_log_says_who_signed_in(lake, audit_file, admin, browser):
    pair = new_user(admin, "logged")
    with httpx2.Client(base_url=lake.api, auth=pair) as logged:
        links = [made(logged) for _ in range(2)]
    use(browser, links[0] | {"username": "nobody"})
    for link in links:
        use(browser, link, confirmed=True)
    use(browser, made(admin))

    def records():
        lines = complete_lines(audit_file)
        return [json.loads(line) for line in lines if b"useSignInLink" in line]

    # each process writes its own records, so those of two processes have no order
    eventually(lambda: {"logged", "tester"} <= {record.get("user") for record in records()})
    eventually(lambda: any(record.get("reason") == "sign_in_link" for record in records()))
    written = lake.log.read_text() + audit_file.read_text()
    assert "/auth/links/use" in lake.log.read_text()
    for code in (link["code"] for link in links):
        assert code not in written
        assert code.partition(".")[2] not in written
