"""Users whom an identity provider deactivates by SCIM, through all gateways, and its audit."""

from __future__ import annotations

import httpx2
import pytest
from botocore.exceptions import ClientError
from support.eventually import eventually

from anabranch.audit.chain import parse_line
from anabranch.testing.server import running_server
from tests.server.observability.complete_lines import complete_lines

from .conftest import Team

TOKEN = "a-token-of-the-identity-provider"


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    return tmp_path_factory.mktemp("scim") / "audit.log"


@pytest.fixture(scope="module")
def provisioned(file, tmp_path_factory):
    env = {"ANABRANCH_AUTH_SCIM_TOKEN": TOKEN, "ANABRANCH_AUDIT_FILE": str(file)}
    with running_server(tmp_path_factory.mktemp("lake"), env=env) as server:
        yield Team(server)


def activate(team, name, *, active):
    operation = {"op": "replace", "path": "active", "value": active}
    schema = "urn:ietf:params:scim:api:messages:2.0:PatchOp"
    response = httpx2.patch(
        f"{team.server.url}/scim/v2/Users/{name}",
        json={"schemas": [schema], "Operations": [operation]},
        headers={"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/scim+json"},
    )
    assert response.status_code == 200, response.text


def test_deactivated_user_is_refused_by_key_and_signature_until_activated_and_by_token_for_good(
    provisioned,
):
    lake = provisioned.repository("a")
    member = provisioned.member(groups=("Viewers",))
    pair = dict(zip(("access_key_id", "secret_access_key"), member.keys, strict=True))
    token = member.api.post("/auth/login", json=pair).json()["token"]
    bearer = {"Authorization": f"Bearer {token}"}
    place = f"{provisioned.server.api}/repositories/{lake}"

    def statuses():
        try:
            member.s3.get_object(Bucket=lake, Key="main/a")["Body"].read()
            by_signature = 200
        except ClientError as error:
            by_signature = error.response["ResponseMetadata"]["HTTPStatusCode"]
        by_key = member.api.get(f"/repositories/{lake}").status_code
        return by_key, by_signature, httpx2.get(place, headers=bearer).status_code

    assert statuses() == (200, 200, 200)
    activate(provisioned, member.name, active=False)
    assert statuses() == (401, 403, 401)
    assert member.api.post("/auth/login", json=pair).status_code == 401
    activate(provisioned, member.name, active=True)
    assert statuses() == (200, 200, 401)


def test_changes_by_scim_are_in_the_audit_log(provisioned, file):
    member = provisioned.member()
    activate(provisioned, member.name, active=False)

    def changes():
        records = map(parse_line, complete_lines(file))
        return [each for each in records if each and each.get("gateway") == "scim"]

    own = f"/scim/v2/Users/{member.name}"
    eventually(lambda: own in [each["resource"] for each in changes()])
    assert changes()[-1]["resource"] == own
    assert TOKEN not in file.read_text()
    wrong = httpx2.get(
        f"{provisioned.server.url}/scim/v2/Users", headers={"Authorization": "Bearer wrong"}
    )
    assert wrong.status_code == 401
    eventually(lambda: [each for each in changes() if each.get("allowed") is False])
