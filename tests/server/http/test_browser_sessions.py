"""Session cookies of browsers: secure over TLS, valid as long as their tokens, and useless to other
sites.
"""

from __future__ import annotations

import http.client
import json
from contextlib import closing
from urllib.parse import urlsplit

import pytest

from anabranch.testing.server import running_server

LOGIN = "/api/v1/auth/login"
OWN, OTHER = "sea.example.com", "evil.example.com"


def send(server, method, path, body=b"", **headers):
    """Returns the status, the headers and the body of a response."""
    url = urlsplit(server.url)
    names = {name.replace("_", "-"): value for name, value in headers.items()}
    with closing(http.client.HTTPConnection(url.hostname, url.port, timeout=30)) as connection:
        connection.request(method, path, body, {"Host": OWN, **names})
        response = connection.getresponse()
        return response.status, response.headers, response.read()


def log_in(server, **headers):
    body = {"access_key_id": server.access_key_id, "secret_access_key": server.secret_access_key}
    kind = {"Content-Type": "application/json"}
    response = send(server, "POST", LOGIN, json.dumps(body).encode(), **kind, **headers)
    assert response[0] == 200
    return response


def session_cookie(server, **headers):
    return log_in(server, **headers)[1]["Set-Cookie"].split(";")[0]


@pytest.fixture(scope="module")
def behind_proxy(tmp_path_factory):
    env = {"ANABRANCH_HTTP_TRUSTED_PROXIES": "127.0.0.1", "ANABRANCH_AUTH_LOGIN_DURATION": "1h"}
    with running_server(tmp_path_factory.mktemp("proxy"), env=env) as server:
        yield server


@pytest.mark.parametrize(
    ("forwarded", "secure"),
    [("https", True), ("HTTPS", True), ("http", False), ("https, http", False), ("", False)],
)
def test_a_cookie_is_secure_if_the_login_used_tls(behind_proxy, forwarded, secure):
    headers = {"X-Forwarded-Proto": forwarded} if forwarded else {}
    cookie = log_in(behind_proxy, **headers)[1]["Set-Cookie"]
    assert ("; Secure" in cookie) is secure


def test_forwarded_headers_of_untrusted_clients_are_ignored(shared_server):
    cookie = log_in(shared_server.server, X_Forwarded_Proto="https")[1]["Set-Cookie"]
    assert "; Secure" not in cookie


def test_a_cookie_expires_with_its_token(behind_proxy):
    _, headers, body = log_in(behind_proxy)
    lifetime = int(headers["Set-Cookie"].split("Max-Age=")[1].split(";")[0])
    assert 3500 < lifetime <= 3600
    assert "token_expiration" in json.loads(body)


SITES = {
    "own-page": ({"Sec_Fetch_Site": "same-origin", "Origin": f"https://{OWN}"}, True),
    "own-page-behind-proxy": ({"Sec_Fetch_Site": "same-origin", "Origin": "https://a"}, True),
    "typed": ({"Sec_Fetch_Site": "none"}, True),
    "own-origin": ({"Origin": f"http://{OWN}"}, True),
    "other-page": ({"Sec_Fetch_Site": "cross-site", "Origin": f"https://{OTHER}"}, False),
    "other-page-with-own-origin": (
        {"Sec_Fetch_Site": "cross-site", "Origin": f"https://{OWN}"},
        False,
    ),
    "sibling": ({"Sec_Fetch_Site": "same-site"}, False),
    "other-origin": ({"Origin": f"https://{OTHER}"}, False),
    "own-host-as-prefix": ({"Origin": f"https://{OWN}.evil.com"}, False),
    "other-port": ({"Origin": f"https://{OWN}:8443"}, False),
    "sandbox": ({"Origin": "null"}, False),
    "empty": ({"Origin": ""}, False),
    "no-headers": ({}, False),
}
CHANGES = [
    ("POST", "/api/v1/repositories/sea/branches/main/objects?path=csrf"),
    ("POST", "/api/v1/repositories/sea/branches/main/commits"),
    ("PUT", "/api/v1/repositories/sea/branches/main"),
    ("DELETE", "/api/v1/repositories/sea/branches/main/objects?path=csrf"),
]


@pytest.mark.parametrize("name", SITES)
def test_other_sites_cannot_make_changes_through_the_api(shared_server, name):
    headers, own = SITES[name]
    cookie = session_cookie(shared_server.server)
    for method, path in CHANGES:
        status, _, body = send(shared_server.server, method, path, b"x", Cookie=cookie, **headers)
        assert (b"another site" in body) is not own
        assert (status in {401, 403}) is not own
    response = shared_server.api.get("/repositories/sea/refs/main/objects", params={"path": "csrf"})
    assert response.status_code == 404
    # reads are allowed, for links from other sites
    assert (
        send(shared_server.server, "GET", "/api/v1/repositories", Cookie=cookie, **headers)[0]
        == 200
    )


@pytest.mark.parametrize("name", SITES)
def test_other_sites_cannot_make_changes_through_s3(shared_server, name):
    headers, own = SITES[name]
    host = "s3.local.lakefs.io"
    if headers.get("Origin") == f"http://{OWN}":
        headers = {"Origin": f"http://{host}"}
    cookie = session_cookie(shared_server.server)
    headers = {"Host": host, "Cookie": cookie, **headers}
    status, _, body = send(shared_server.server, "PUT", "/sea/main/csrf-s3", b"x", **headers)
    assert status == (200 if own else 403)
    assert (b"another site" in body) is not own
    assert send(shared_server.server, "GET", "/sea?list-type=2", **headers)[0] == 200
    status = send(shared_server.server, "DELETE", "/sea/main/csrf-s3", **headers)[0]
    assert status == (204 if own else 403)


def test_a_bearer_token_may_be_sent_from_any_origin(shared_server):
    token = json.loads(log_in(shared_server.server)[2])["token"]
    cookie = f"internal_auth_session={token}"
    headers = {"Authorization": f"Bearer {token}", "Cookie": cookie}
    headers |= {"Sec-Fetch-Site": "cross-site", "Origin": f"https://{OTHER}"}
    path = "/api/v1/repositories/sea/branches/main/objects?path=bearer"
    assert send(shared_server.server, "POST", path, b"x", **headers)[0] == 201


@pytest.mark.parametrize("name", SITES)
def test_other_sites_cannot_log_in(shared_server, name):
    headers, own = SITES[name]
    body = {
        "access_key_id": shared_server.server.access_key_id,
        "secret_access_key": shared_server.server.secret_access_key,
    }
    kind = {"Content-Type": "application/json"}
    status, sent, _ = send(
        shared_server.server, "POST", LOGIN, json.dumps(body).encode(), **kind, **headers
    )
    is_allowed = own or name == "no-headers"
    assert (status == 200) is is_allowed
    assert ("Set-Cookie" in sent) is is_allowed


@pytest.mark.parametrize("name", SITES)
def test_other_sites_cannot_log_out(shared_server, name):
    headers, own = SITES[name]
    cookie = session_cookie(shared_server.server)
    status, sent, _ = send(shared_server.server, "GET", "/logout", Cookie=cookie, **headers)
    is_allowed = own or name == "no-headers"
    assert status == 307
    assert ("Set-Cookie" in sent) is is_allowed
    status = send(shared_server.server, "GET", "/api/v1/repositories", Cookie=cookie)[0]
    assert status == (401 if is_allowed else 200)


def test_a_session_is_of_this_site_and_unreadable_for_scripts(shared_server):
    attributes = log_in(shared_server.server)[1]["Set-Cookie"].split("; ")[1:]
    assert {"HttpOnly", "SameSite=Strict", "Path=/"} <= set(attributes)
    assert not any(each.startswith("Domain") for each in attributes)
