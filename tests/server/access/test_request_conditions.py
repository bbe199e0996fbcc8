"""Conditions of policies on the address of the client, through both gateways."""

from __future__ import annotations

import httpx2
import pytest
from botocore.auth import S3SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from .conftest import Team, allow, deny

OFFICE, HOME = "10.1.2.3", "198.51.100.7"


def s3_status(team: Team, keys: tuple[str, str], path: str, forwarded_for: str) -> int:
    """Returns the status of a signed GET that a proxy forwards."""
    request = AWSRequest("GET", f"{team.server.url}{path}")
    S3SigV4Auth(Credentials(*keys), "s3", "us-east-1").add_auth(request)
    headers = {**request.headers, "X-Forwarded-For": forwarded_for}
    return httpx2.get(f"{team.server.url}{path}", headers=headers).status_code


@pytest.mark.parametrize(
    ("forwarded_for", "allowed"),
    [
        (OFFICE, True),
        (HOME, False),
        (f"{OFFICE}, {HOME}", False),  # the client sent the first value itself
        (f"{HOME}, {OFFICE}", True),
        (f"{OFFICE}, 127.0.0.1", True),  # two proxies
        (f"{OFFICE}:4711", True),
        ("unknown", False),
        ("", False),
    ],
)
def test_statement_with_an_address_applies_to_clients_of_that_address(team, forwarded_for, allowed):
    lake = team.repository("a")
    member = team.member(
        allow("fs:Read*", "fs:List*", IpAddress={"SourceIp": ["10.0.0.0/8"]}),
    )
    headers = {"X-Forwarded-For": forwarded_for}
    place = f"/repositories/{lake}/refs/main/objects/stat"
    response = member.api.get(place, params={"path": "a"}, headers=headers)
    assert response.status_code == (200 if allowed else 401)
    status = s3_status(team, member.keys, f"/{lake}/main/a", forwarded_for)
    assert status == (200 if allowed else 403)


def test_denial_outside_of_an_address_holds_on_cached_actors(team):
    lake = team.repository("a")
    member = team.member(allow("fs:*"), deny("fs:*", NotIpAddress={"SourceIp": ["10.0.0.0/8"]}))
    place = f"/repositories/{lake}"
    for forwarded_for, status in ((OFFICE, 200), (HOME, 401), (OFFICE, 200), (HOME, 401)):
        response = member.api.get(place, headers={"X-Forwarded-For": forwarded_for})
        assert response.status_code == status
