"""Failed logins over REST and S3 are throttled for the address that they come from."""

from __future__ import annotations

import httpx2
from botocore.auth import S3SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

OFFICE, HOME = {"X-Forwarded-For": "10.7.7.7"}, {"X-Forwarded-For": "10.7.7.8"}


def s3_get(team, keys, headers):
    request = AWSRequest("GET", f"{team.server.url}/")
    S3SigV4Auth(Credentials(*keys), "s3", "us-east-1").add_auth(request)
    return httpx2.get(f"{team.server.url}/", headers={**request.headers, **headers})


def test_rest_responds_with_429_and_the_time_to_wait(team):
    member = team.member(groups=("Viewers",))
    wrong = member.keys[0], "wrong-secret-wrong"
    place = f"{team.server.api}/repositories"
    statuses = [httpx2.get(place, auth=wrong, headers=OFFICE).status_code for _ in range(11)]
    assert statuses == [401] * 10 + [429]
    login = {"access_key_id": member.keys[0], "secret_access_key": member.keys[1]}
    refused = httpx2.post(f"{team.server.api}/auth/login", json=login, headers=OFFICE)
    assert refused.status_code == 429
    assert refused.json() == {"message": "too many failed logins"}
    assert 1 <= int(refused.headers["retry-after"]) <= 30
    assert s3_get(team, member.keys, OFFICE).status_code == 503
    # elsewhere the key works
    assert httpx2.get(place, auth=member.keys, headers=HOME).status_code == 200
    assert s3_get(team, member.keys, HOME).status_code == 200


def test_s3_responds_with_slow_down(team):
    member = team.member(groups=("Viewers",))
    wrong = member.keys[0], "wrong-secret-wrong"
    office = {"X-Forwarded-For": "10.7.7.9"}
    responses = [s3_get(team, wrong, office) for _ in range(11)]
    assert [response.status_code for response in responses] == [403] * 10 + [503]
    assert "<Code>SlowDown</Code>" in responses[-1].text
    assert s3_get(team, member.keys, HOME).status_code == 200
