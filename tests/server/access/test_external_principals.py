"""Roles of AWS that log in as users, with the functions of lakeFS's Python client."""

from __future__ import annotations

import base64
import json
import time

import boto3
import httpx2
import lakefs_sdk
import pytest
from lakefs.auth import _get_identity_token
from support.services.token_service import HOST, running_token_service

from anabranch.testing.server import running_server

from .conftest import Team

ROLE = "arn:aws:sts::123456789012:assumed-role/analysts"
SERVER_ID = {"X-LakeFS-Server-ID": "lake.example.com"}
KEYS = ("ASIAEXAMPLEEXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY")


@pytest.fixture(scope="module")
def service():
    with running_token_service() as service:
        yield service


@pytest.fixture(scope="module")
def cloud(service, tmp_path_factory):
    """A server at which roles of AWS log in."""
    env = {
        "ANABRANCH_AUTH_EXTERNAL_AWS_AUTH_ENABLED": "true",
        "ANABRANCH_AUTH_EXTERNAL_AWS_AUTH_ENDPOINT": service.url,
        "ANABRANCH_AUTH_EXTERNAL_AWS_AUTH_REQUIRED_HEADERS": "X-LakeFS-Server-ID=lake.example.com",
        "ANABRANCH_AUTH_EXTERNAL_AWS_AUTH_REQUEST_TIMEOUT": "2s",
        "ANABRANCH_HTTP_TRUSTED_PROXIES": "127.0.0.1",
    }
    with running_server(tmp_path_factory.mktemp("cloud"), env=env) as server:
        yield Team(server)


@pytest.fixture
def analyst(cloud, service):
    """A user who has the role, and the role's session at the token service."""
    service.hostile = None
    service.callers = {KEYS[0]: (f"{ROLE}/session-of-jane", KEYS[1])}
    member = cloud.member(groups=("Viewers",))
    place = f"/auth/users/{member.name}/external/principals"
    assert cloud.admin.api.post(place, params={"principalId": ROLE}).status_code == 201
    yield member
    cloud.admin.api.delete(place, params={"principalId": ROLE})


def identity(keys=KEYS, headers=SERVER_ID, expires=60):
    session = boto3.Session(*keys, region_name="eu-central-1")
    return _get_identity_token(session, "", additional_headers=headers, presign_expiry=expires)


def log_in(team, token, **body):
    request = {"identityRequest": {"identity_token": token}, **body}
    return httpx2.post(f"{team.server.api}/auth/external/principal/login", json=request)


def changed(**parts):
    """Returns an identity token with other parts."""
    content = json.loads(base64.b64decode(identity())) | parts
    return base64.b64encode(json.dumps(content).encode()).decode()


def test_session_of_a_role_logs_in_as_its_user(cloud, analyst):
    response = log_in(cloud, identity(), token_expiration_duration=600)
    assert response.status_code == 200, response.text
    body = response.json()
    assert 540 <= body["token_expiration"] - time.time() <= 600
    headers = {"Authorization": f"Bearer {body['token']}"}
    user = httpx2.get(f"{cloud.server.api}/user", headers=headers).json()["user"]
    assert user["id"] == analyst.name
    assert httpx2.get(f"{cloud.server.api}/repositories", headers=headers).status_code == 200
    assert httpx2.get(f"{cloud.server.api}/auth/users", headers=headers).status_code == 401


def test_longest_token_lasts_twelve_hours(cloud, analyst):
    body = log_in(cloud, identity(), token_expiration_duration=10**9).json()
    assert body["token_expiration"] - time.time() <= 12 * 3600
    assert analyst


@pytest.mark.parametrize(
    ("token", "reason"),
    [
        (lambda: identity(keys=(KEYS[0], "another-secret")), "responded with 403"),
        (lambda: identity(headers={"X-Other": "x"}), "does not cover X-LakeFS-Server-ID"),
        (lambda: identity(headers={"X-LakeFS-Server-ID": "other.example.com"}), "with 403"),
        (lambda: changed(host="evil.example.com"), "a token service that is not configured"),
        (lambda: changed(host=f"{HOST}@evil.example.com"), "not configured"),
        (lambda: changed(host="sts.evil.amazonaws.com.evil.example"), "not configured"),
        (lambda: changed(action="AssumeRole"), "it is not GetCallerIdentity"),
        (lambda: changed(method="GET"), "it is not GetCallerIdentity"),
        (lambda: changed(date="20200101T000000Z"), "it is too old"),
        (lambda: changed(date="29990101T000000Z"), "it is too old"),
        (lambda: changed(date="yesterday"), "its date is malformed"),
        (lambda: changed(region="eu&Action=AssumeRole"), "a part of it is malformed"),
        (lambda: changed(signed_headers=["host"]), "does not cover"),
        (lambda: changed(signature="0" * 64), "responded with 403"),
        (lambda: "no base64!", "it cannot be read"),
        (lambda: base64.b64encode(b"[" * 10_000).decode(), "it cannot be read"),
        (lambda: "A" * 100_000, "it cannot be read"),
        (lambda: base64.b64encode(b"{}").decode(), "it cannot be read"),
        (lambda: 7, "it has no identity_token"),
    ],
)
@pytest.mark.sample(8)
def test_false_identities_are_refused(cloud, analyst, token, reason):
    response = log_in(cloud, token())
    assert response.status_code == 401
    assert reason in response.json()["message"]
    assert analyst


@pytest.mark.parametrize(
    ("hostile", "status"),
    [
        ((200, b"<Arn></Arn>"), 401),
        ((200, b"<Arn>arn:aws:iam::1:user/a</Arn><Arn>arn:aws:iam::1:user/b</Arn>"), 401),
        ((200, b'<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]><Arn>&a;</Arn>'), 401),
        ((200, b"not XML"), 401),
        ((403, f"<Arn>{ROLE}/x</Arn>".encode()), 401),
        ((302, b""), 401),
        ((500, b"oops"), 503),
        ((200, b"x" * (2 << 20)), 503),
    ],
)
@pytest.mark.sample(1)
def test_nonsense_of_the_token_service_logs_nobody_in(cloud, analyst, service, hostile, status):
    service.hostile = hostile
    response = log_in(cloud, identity())
    assert response.status_code == status
    assert "token" not in response.json()
    assert analyst


def test_principal_of_no_user_is_refused(cloud, analyst, service):
    service.callers = {KEYS[0]: ("arn:aws:sts::999:assumed-role/others/x", KEYS[1])}
    response = log_in(cloud, identity())
    assert response.status_code == 401
    assert "belongs to no user" in response.json()["message"]
    assert analyst


def test_principals_are_administered_by_lakefs_sdk(cloud, analyst):
    configuration = lakefs_sdk.Configuration(
        host=cloud.server.api, username=cloud.admin.keys[0], password=cloud.admin.keys[1]
    )
    with lakefs_sdk.ApiClient(configuration) as client:
        api = lakefs_sdk.ExternalApi(client)
        auth = lakefs_sdk.AuthApi(client)
        found = api.get_external_principal(ROLE)
        assert (found.id, found.user_id) == (ROLE, analyst.name)
        other = cloud.member()
        with pytest.raises(lakefs_sdk.ApiException) as refused:
            api.create_user_external_principal(other.name, ROLE)
        assert refused.value.status == 409
        with pytest.raises(lakefs_sdk.ApiException) as refused:
            api.delete_user_external_principal(other.name, ROLE)
        assert refused.value.status == 404
        for number in range(3):
            api.create_user_external_principal(other.name, f"arn:aws:iam::1:user/u{number}")
        page = api.list_user_external_principals(other.name, amount=2)
        assert [each.id[-2:] for each in page.results] == ["u0", "u1"]
        assert page.pagination.has_more
        api.delete_user_external_principal(other.name, "arn:aws:iam::1:user/u0")
        auth.delete_user(other.name)
        for number in range(3):
            with pytest.raises(lakefs_sdk.ApiException) as refused:
                api.get_external_principal(f"arn:aws:iam::1:user/u{number}")
            assert refused.value.status == 404


def test_logins_are_not_implemented_unless_they_are_enabled(team):
    assert log_in(team, identity()).status_code == 501


@pytest.mark.slow
def test_logins_without_a_required_header_are_no_settings(tmp_path):
    env = {"ANABRANCH_AUTH_EXTERNAL_AWS_AUTH_ENABLED": "true"}
    with (
        pytest.raises(AssertionError, match=r"needs auth\.external_aws_auth\.required_headers"),
        running_server(tmp_path, env=env),
    ):
        pass
