"""Sessions of browsers: cookies that leave TLS alone, end with their tokens, and do not let other
sites change anything.
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
    place = urlsplit(server.url)
    names = {name.replace("_", "-"): value for name, value in headers.items()}
    with closing(http.client.HTTPConnection(place.hostname, place.port, timeout=30)) as connection:
        connection.request(method, path, body, {"Host": OWN, **names})
        answer = connection.getresponse()
        return answer.status, answer.headers, answer.read()


def log_in(server, **headers):
    body = {"access_key_id": server.access_key_id, "secret_access_key": server.secret_access_key}
    kind = {"Content-Type": "application/json"}
    answer = send(server, "POST", LOGIN, json.dumps(body).encode(), **kind, **headers)
    assert answer[0] == 200
    return answer


def cookie_of(server, **headers):
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
def test_a_cookie_is_secure_if_its_login_was(behind_proxy, forwarded, secure):
    headers = {"X-Forwarded-Proto": forwarded} if forwarded else {}
    cookie = log_in(behind_proxy, **headers)[1]["Set-Cookie"]
    assert ("; Secure" in cookie) is secure


def test_a_client_that_is_no_proxy_cannot_say_how_it_came(shared_server):
    cookie = log_in(shared_server.server, X_Forwarded_Proto="https")[1]["Set-Cookie"]
    assert "; Secure" not in cookie


def test_a_cookie_lives_as_long_as_its_token(behind_proxy):
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
    "other-page-lying": ({"Sec_Fetch_Site": "cross-site", "Origin": f"https://{OWN}"}, False),
    "sibling": ({"Sec_Fetch_Site": "same-site"}, False),
    "other-origin": ({"Origin": f"https://{OTHER}"}, False),
    "beginning": ({"Origin": f"https://{OWN}.evil.com"}, False),
    "other-port": ({"Origin": f"https://{OWN}:8443"}, False),
    "sandbox": ({"Origin": "null"}, False),
    "empty": ({"Origin": ""}, False),
    "untold": ({}, False),
}
CHANGES = [
    ("POST", "/api/v1/repositories/sea/branches/main/objects?path=csrf"),
    ("POST", "/api/v1/repositories/sea/branches/main/commits"),
    ("PUT", "/api/v1/repositories/sea/branches/main"),
    ("DELETE", "/api/v1/repositories/sea/branches/main/objects?path=csrf"),
]


@pytest.mark.parametrize("name", SITES)
def test_other_sites_change_nothing_through_the_api(shared_server, name):
    headers, own = SITES[name]
    cookie = cookie_of(shared_server.server)
    for method, path in CHANGES:
        status, _, body = send(shared_server.server, method, path, b"x", Cookie=cookie, **headers)
        assert (b"another site" in body) is not own
        assert (status in {401, 403}) is not own
    found = shared_server.api.get("/repositories/sea/refs/main/objects", params={"path": "csrf"})
    assert found.status_code == 404
    # reading stays possible, for links from elsewhere
    assert (
        send(shared_server.server, "GET", "/api/v1/repositories", Cookie=cookie, **headers)[0]
        == 200
    )


@pytest.mark.parametrize("name", SITES)
def test_other_sites_change_nothing_through_s3(shared_server, name):
    headers, own = SITES[name]
    host = "s3.local.lakefs.io"
    if headers.get("Origin") == f"http://{OWN}":
        headers = {"Origin": f"http://{host}"}
    cookie = cookie_of(shared_server.server)
    asked = {"Host": host, "Cookie": cookie, **headers}
    status, _, body = send(shared_server.server, "PUT", "/sea/main/csrf-s3", b"x", **asked)
    assert status == (200 if own else 403)
    assert (b"another site" in body) is not own
    assert send(shared_server.server, "GET", "/sea?list-type=2", **asked)[0] == 200
    status = send(shared_server.server, "DELETE", "/sea/main/csrf-s3", **asked)[0]
    assert status == (204 if own else 403)


def test_a_token_in_a_header_needs_no_origin(shared_server):
    token = json.loads(log_in(shared_server.server)[2])["token"]
    cookie = f"internal_auth_session={token}"
    headers = {"Authorization": f"Bearer {token}", "Cookie": cookie}
    headers |= {"Sec-Fetch-Site": "cross-site", "Origin": f"https://{OTHER}"}
    path = "/api/v1/repositories/sea/branches/main/objects?path=bearer"
    assert send(shared_server.server, "POST", path, b"x", **headers)[0] == 201
