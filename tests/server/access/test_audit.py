"""The audit log of a real server, through REST and S3."""

from __future__ import annotations

import subprocess

import httpx2
import pytest
from botocore.exceptions import ClientError
from support.eventually import eventually
from support.session.forked_python import forked_python

from anabranch.audit.chain import parse_line
from anabranch.testing.server import running_server
from tests.server.observability.complete_lines import complete_lines

from .conftest import Member, Team, allow, deny


@pytest.fixture(scope="module", params=[1, 2], ids=["one process", "two processes"])
def workers(request):
    return request.param


@pytest.fixture(scope="module")
def file(tmp_path_factory, workers):
    return tmp_path_factory.mktemp(f"audit-of-{workers}") / "audit.log"


@pytest.fixture(scope="module")
def audited(workers, file, tmp_path_factory):
    """A server that writes an audit log."""
    env = {"ANABRANCH_AUDIT_FILE": str(file), "ANABRANCH_HTTP_TRUSTED_PROXIES": "127.0.0.1"}
    folder = tmp_path_factory.mktemp("audited")
    with running_server(folder, env=env, workers=workers) as server:
        yield Team(server)


def records(file, **wanted):
    """Returns the records with these values, in order, without one that is being written."""
    lines = map(parse_line, complete_lines(file))
    return [each for each in lines if all(each.get(key) == wanted[key] for key in wanted)]


def audit(*words):
    command = [forked_python(), "-m", "anabranch", "audit", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_decisions_and_changes_have_user_resource_address_and_request(audited, file):
    lake = audited.repository("a")
    resource = f"arn:lakefs:fs:::repository/{lake}/object"
    member = audited.member(
        allow("fs:ReadObject", "fs:WriteObject", on=f"{resource}/*"),
        deny("fs:WriteObject", on=f"{resource}/fixed"),
    )
    policy = f"Policy{member.name.removeprefix('user-')}"
    place = f"/repositories/{lake}/branches/main/objects"
    headers = {"X-Forwarded-For": "198.51.100.7"}
    written, refused = (
        member.api.post(place, params={"path": path}, content=b"x", headers=headers)
        for path in ("b", "fixed")
    )
    assert (written.status_code, refused.status_code) == (201, 401)
    for response, allowed, statement, path in (
        (written, True, 1, "b"),
        (refused, False, 2, "fixed"),
    ):
        request_id = response.headers["x-request-id"]
        eventually(lambda wanted=request_id: records(file, request_id=wanted, event="change"))
        decision, change = records(file, request_id=request_id)
        assert (
            decision.items()
            >= {
                "event": "decision",
                "user": member.name,
                "action": "fs:WriteObject",
                "resource": f"{resource}/{path}",
                "allowed": allowed,
                "policy": policy,
                "statement": statement,
                "gateway": "rest",
                "operation": "uploadObject",
                "source_ip": "198.51.100.7",
            }.items()
        )
        assert change.items() >= {"event": "change", "status": response.status_code}.items()
    member.s3.get_object(Bucket=lake, Key="main/a")
    with pytest.raises(ClientError):
        member.s3.list_objects_v2(Bucket=lake, Prefix="main/")
    eventually(lambda: records(file, user=member.name, operation="GetObject"))
    (read,) = records(file, user=member.name, operation="GetObject")
    assert (read["gateway"], read["allowed"], read["resource"]) == ("s3", True, f"{resource}/a")
    eventually(lambda: records(file, user=member.name, operation="ListObjectsV2"))
    (listed,) = records(file, user=member.name, operation="ListObjectsV2")
    assert (listed["allowed"], listed["policy"]) == (False, None)


def test_each_deleted_key_is_decided_on_its_own(audited, file):
    lake = audited.repository("a", "b")
    member = audited.member(
        allow("fs:DeleteObject", on=f"arn:lakefs:fs:::repository/{lake}/object/a")
    )
    objects = [{"Key": "main/a"}, {"Key": "main/b"}]
    answer = member.s3.delete_objects(Bucket=lake, Delete={"Objects": objects})
    assert len(answer["Errors"]) == 1
    eventually(lambda: len(records(file, user=member.name, event="decision")) == 2)
    decided = [each["allowed"] for each in records(file, user=member.name, event="decision")]
    assert decided == [True, False]


def test_failed_authentication_names_the_claimed_key(audited, file):
    url, wrong = audited.server.api, ("AKIAJNOBODYNOBODYNOQ", "wrong-secret-wrong")
    responses = [
        httpx2.get(f"{url}/repositories", auth=wrong),
        httpx2.get(f"{url}/repositories"),
        httpx2.post(
            f"{url}/auth/login",
            json={"access_key_id": wrong[0], "secret_access_key": wrong[1]},
        ),
    ]
    assert [response.status_code for response in responses] == [401] * 3
    stranger = Member(audited.server, "nobody", wrong)
    with pytest.raises(ClientError):
        stranger.s3.list_buckets()

    def claimed():
        failed = records(file, event="authentication", allowed=False, access_key_id=wrong[0])
        return [each["operation"] for each in failed]

    # each process writes its own records, so those of two processes have no order
    eventually(lambda: len(claimed()) >= 3)
    assert sorted(claimed()) == ["ListBuckets", "listRepositories", "login"]
    good = dict(zip(("access_key_id", "secret_access_key"), audited.server.auth, strict=True))
    token = httpx2.post(f"{url}/auth/login", json=good).json()["token"]
    eventually(lambda: records(file, event="authentication", allowed=True, user="tester"))
    text = file.read_text()
    for secret in (wrong[1], audited.server.secret_access_key, token):
        assert secret not in text


def test_commands_search_and_verify(audited, file, tmp_path):
    member = audited.member(allow("fs:ReadConfig"))
    response = member.api.get("/config/storage")
    assert response.status_code == 200
    eventually(lambda: records(file, user=member.name))
    shown = audit(file, "--user", member.name)
    assert (shown.returncode, len(shown.stdout.splitlines())) == (0, 1)
    assert "fs:ReadConfig" in shown.stdout
    assert audit("show", file, "--user", member.name, "--denied").stdout == ""
    assert audit(file, "--request-id", response.headers["x-request-id"]).stdout == shown.stdout
    assert audit(file, "--user", member.name, "--until", "2026-01-01").stdout == ""
    assert member.api.get("/auth/users").status_code == 401
    eventually(lambda: b'"allowed":false' in file.read_bytes())
    # while the server goes on writing, a copy is verified
    copy = tmp_path / "copy.log"
    copy.write_bytes(file.read_bytes())
    verified = audit("verify", copy, "--beginning")
    assert (verified.returncode, verified.stderr) == (0, "")
    copy.write_bytes(copy.read_bytes().replace(b'"allowed":false', b'"allowed":true', 1))
    verified = audit("verify", copy)
    assert verified.returncode == 1
    assert "it was altered" in verified.stderr


@pytest.mark.slow
def test_server_with_an_unwritable_audit_log_does_not_start(tmp_path):
    env = {"ANABRANCH_AUDIT_FILE": "/proc/audit.log"}
    with (
        pytest.raises(AssertionError, match=r"/proc/audit\.log cannot be written"),
        running_server(tmp_path, env=env),
    ):
        pass


def test_administrators_read_records_over_rest(audited, file):
    lake = audited.repository("a")
    member = audited.member(allow("fs:ReadObject"))
    assert member.api.get(f"/repositories/{lake}/branches").status_code == 401
    eventually(lambda: records(file, user=member.name, action="fs:ListBranches"))
    (expected,) = records(file, user=member.name, action="fs:ListBranches")
    admin = audited.admin.api
    wanted = {"user": member.name, "denied": "true", "amount": 5}
    assert admin.get("/audit/records", params=wanted).json()["results"] == [expected]
    page = admin.get("/audit/records", params={"amount": 1}).json()
    older = {"amount": 1000, "after": page["next_offset"]}
    assert page["results"][0] not in admin.get("/audit/records", params=older).json()["results"]
    assert member.api.get("/audit/records").status_code == 401
    for wrong in ({"since": "yesterday"}, {"amount": 0}, {"after": "x"}, {"event": "x"}):
        assert admin.get("/audit/records", params=wrong).status_code == 400


def test_changes_name_the_addresses_of_the_store_without_tokens(audited, file):
    lake = audited.repository("a")
    api = audited.admin.api
    route = f"/repositories/{lake}/branches/main/staging/backing"
    address = api.get(route, params={"path": "b"}).json()["physical_address"]
    unsigned = address.rpartition(",")[0]
    place = f"/repositories/{lake}/branches/main/objects"
    body = {"checksum": "c", "size_bytes": 1}
    for named, expected in (
        (address, unsigned),
        (f"local://{lake}/raw/x", f"local://{lake}/raw/x"),
    ):
        response = api.put(place, params={"path": "b"}, json={"physical_address": named, **body})
        assert response.status_code == 201
        request_id = response.headers["x-request-id"]
        eventually(lambda wanted=request_id: records(file, request_id=wanted, event="change"))
        (change,) = records(file, request_id=request_id, event="change")
        assert change["addresses"] == [expected]
    assert address.encode() not in file.read_bytes()
    imports = records(file, request_id=request_id, action="fs:ImportFromStorage")
    assert f"arn:lakefs:fs:::namespace/local://{lake}/raw/x" in [
        each["resource"] for each in imports
    ]
