"""Objects whose files are lost or damaged under a running server: both gateways report the
damage in a form that clients do not repeat, with a line in the log.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import NamedTuple

import httpx2
import pytest
from botocore.exceptions import ClientError, IncompleteReadError, ResponseStreamingError
from support.clients.s3_client import s3_client

from anabranch.testing.server import Server, running_server

OBJECTS = "/repositories/sea/branches/main/objects"
READ = "/repositories/sea/refs/main/objects"
LOGS = {"ANABRANCH_LOGGING_FORMAT": "json"}


class Scenario(NamedTuple):
    """A server with a repository, and clients of both gateways."""

    server: Server
    api: httpx2.Client
    s3: object

    def put(self, path: str, body: bytes) -> Path:
        """Uploads an object and returns its file."""
        assert self.api.post(OBJECTS, params={"path": path}, content=body).status_code == 201
        return self.file(path)

    def file(self, path: str) -> Path:
        stat = self.api.get(f"{READ}/stat", params={"path": path}).json()
        return Path(stat["physical_address"].removeprefix("local://"))

    def get(self, path: str, **headers: str) -> httpx2.Response:
        return self.api.get(READ, params={"path": path}, headers=headers)

    def s3_error(self, operation: str, **parameters: str) -> tuple[int, str, int]:
        """Returns status and code of a refusal, and how often it was repeated."""
        with pytest.raises(ClientError) as refused:
            getattr(self.s3, operation)(Bucket="sea", **parameters)
        result = refused.value.response
        meta = result["ResponseMetadata"]
        return meta["HTTPStatusCode"], result["Error"]["Code"], meta["RetryAttempts"]

    def failures(self) -> list[dict]:
        """Returns the lines about failures in the log."""
        lines = [json.loads(line) for line in self.server.log.read_text().splitlines()]
        return [line for line in lines if line["logger"] == "anabranch.failures"]


def scenario_over(server: Server) -> Scenario:
    api = httpx2.Client(base_url=server.api, auth=server.auth, timeout=30)
    return Scenario(server, api, s3_client(server))


@pytest.fixture(scope="module")
def scenario(tmp_path_factory):
    with running_server(tmp_path_factory.mktemp("sea"), env=LOGS) as server:
        scenario = scenario_over(server)
        body = {"name": "sea", "storage_namespace": "local://sea"}
        assert scenario.api.post("/repositories", json=body).status_code == 201
        yield scenario
        scenario.api.close()


def flip(file: Path, at: int = 0) -> None:
    """Flips a bit of a file in place, and leaves its times as they were, as far as one can."""
    status = file.stat()
    with file.open("r+b") as open_file:
        open_file.seek(at)
        (byte,) = open_file.read(1)
        open_file.seek(at)
        open_file.write(bytes([byte ^ 1]))
    os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))


def test_lost_bytes_are_gone_for_both_gateways(scenario):
    scenario.put("lost", b"x" * 1000).unlink()
    assert scenario.get("lost").status_code == 410
    assert scenario.api.head(READ, params={"path": "lost"}).status_code == 410
    assert scenario.s3_error("get_object", Key="main/lost") == (410, "Gone", 0)
    assert scenario.s3_error("head_object", Key="main/lost") == (410, "410", 0)
    assert scenario.api.get(f"{READ}/stat", params={"path": "lost"}).status_code == 200


def test_an_empty_object_needs_no_file(scenario):
    scenario.put("empty", b"").unlink()
    assert scenario.get("empty").content == b""
    assert scenario.api.head(READ, params={"path": "empty"}).status_code == 200
    assert scenario.s3.head_object(Bucket="sea", Key="main/empty")["ContentLength"] == 0


@pytest.mark.parametrize("size", [1, 5000, 100_000, 700_000])
def test_flipped_bytes_of_a_small_object_are_refused_before_the_first_byte(scenario, size):
    path = f"flipped-{size}"
    file = scenario.put(path, b"x" * size)
    assert scenario.get(path).content == b"x" * size  # compared, and found good
    flip(file, size // 2)
    answer = scenario.get(path)
    assert answer.status_code == 410
    assert str(file) in answer.json()["message"]
    assert scenario.s3_error("get_object", Key=f"main/{path}") == (410, "Gone", 0)
    assert scenario.s3_error("get_object", Key=f"main/{path}", Range="bytes=0-0")[0] == 410
    assert scenario.api.head(READ, params={"path": path}).status_code == 410
    assert scenario.get(path, Range="bytes=0-0").status_code == 410
    flip(file, size // 2)
    assert scenario.get(path).content == b"x" * size
    body = scenario.s3.get_object(Bucket="sea", Key=f"main/{path}")["Body"].read()
    assert body == b"x" * size


def test_s3_reads_flipped_bytes_first(scenario):
    for size in (10, 100_000, 400_000):
        path = f"first-{size}"
        flip(scenario.put(path, os.urandom(size)), size - 1)
        assert scenario.s3_error("get_object", Key=f"main/{path}") == (410, "Gone", 0)


def test_a_large_response_is_aborted_and_its_retry_is_refused(scenario):
    size = 5 << 20
    file = scenario.put("large", b"y" * size)
    flip(file, size - 10)
    body = scenario.s3.get_object(Bucket="sea", Key="main/large")["Body"]
    with pytest.raises((IncompleteReadError, ResponseStreamingError)):
        body.read()
    assert scenario.s3_error("get_object", Key="main/large") == (410, "Gone", 0)
    file.write_bytes(b"y" * size)
    flip(file, size - 10)  # a new file for the server
    with pytest.raises(httpx2.RemoteProtocolError):
        scenario.get("large")
    assert scenario.get("large").status_code == 410
    broken = [line for line in scenario.failures() if str(file) in line["msg"]]
    assert {line["service_name"] for line in broken} == {"api", "gateway"}
    assert {line["status_code"] for line in broken} == {500, 410}
    assert "Traceback" not in scenario.server.log.read_text()


@pytest.mark.parametrize("change", ["longer", "shorter"])
def test_a_file_of_another_size_is_refused(scenario, change):
    path = f"size-{change}"
    file = scenario.put(path, b"0123456789")
    file.write_bytes(b"0123456789+" if change == "longer" else b"01234")
    assert scenario.get(path).status_code == 410
    assert scenario.api.head(READ, params={"path": path}).status_code == 410
    assert scenario.s3_error("get_object", Key=f"main/{path}")[0] == 410
    assert scenario.s3_error("head_object", Key=f"main/{path}")[0] == 410


def test_every_failure_is_logged_with_its_request_and_cause(scenario, eventually):
    file = scenario.put("logged", b"x" * 10)
    file.unlink()
    for method in ("GET", "HEAD"):
        name = {"X-Request-ID": f"mine-{method}"}
        assert scenario.api.request(method, READ, params={"path": "logged"}, headers=name)

    def mine():  # a line may be written after its response was sent
        return [line for line in scenario.failures() if line["request_id"].startswith("mine-")]

    eventually(lambda: len(mine()) == len(("GET", "HEAD")))
    result = sorted(mine(), key=lambda line: line["operation_id"])
    assert [line["operation_id"] for line in result] == ["getObject", "headObject"]
    for line in result:
        assert line["level"] == "error"
        assert (line["kind"], line["status_code"]) == ("data_missing", 410)
        assert line["request_id"] in line["msg"]
        assert "there is no data" in line["msg"]
    assert file.name in result[0]["msg"]
    refused = scenario.api.post("/sts/login", json={"code": "c", "state": "s", "redirect_uri": "u"})
    assert refused.status_code == 501
    line = scenario.failures()[-1]
    assert (line["level"], line["kind"]) == ("info", "not_implemented")
    absent = scenario.get("absent")
    assert absent.status_code == 404
    assert scenario.failures()[-1] == line


def test_checksums_declared_by_clients_are_not_verified(scenario):
    backing = "/repositories/sea/branches/main/staging/backing"
    address = scenario.api.get(backing, params={"path": "claimed"}).json()["physical_address"]
    file = Path(address.removeprefix("local://"))
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(b"hello")
    body = {"staging": {"physical_address": address}, "checksum": "a" * 32, "size_bytes": 5}
    assert scenario.api.put(backing, params={"path": "claimed"}, json=body).status_code == 200
    assert scenario.get("claimed").content == b"hello"
    copied = scenario.api.post(
        f"{OBJECTS}/copy", params={"dest_path": "copy"}, json={"src_path": "claimed"}
    )
    assert copied.json()["checksum"] == "a" * 32
    assert scenario.get("copy").content == b"hello"
    assert scenario.s3.head_object(Bucket="sea", Key="main/copy")["ETag"] == f'"{"a" * 32}"'
    # nor do they make the file of another object unreadable
    file = scenario.put("true", b"hello")
    body = {"physical_address": f"local://{file}", "checksum": "b" * 32, "size_bytes": 5}
    assert scenario.api.put(OBJECTS, params={"path": "false"}, json=body).status_code == 201
    assert scenario.get("false").status_code == 410
    assert scenario.get("true").content == b"hello"


def test_multipart_object_is_served_with_any_etag(scenario):
    upload = scenario.s3.create_multipart_upload(Bucket="sea", Key="main/parts")["UploadId"]
    named = {"Bucket": "sea", "Key": "main/parts", "UploadId": upload}
    part = scenario.s3.upload_part(**named, PartNumber=1, Body=b"x" * 100)
    parts = [{"PartNumber": 1, "ETag": part["ETag"]}]
    scenario.s3.complete_multipart_upload(**named, MultipartUpload={"Parts": parts})
    assert scenario.get("parts").content == b"x" * 100
    assert scenario.s3.get_object(Bucket="sea", Key="main/parts")["ETag"].endswith('-1"')
    scenario.file("parts").unlink()
    assert scenario.s3_error("head_object", Key="main/parts")[0] == 410


def test_a_copy_of_damaged_bytes_is_refused_when_read(scenario):
    flip(scenario.put("source", b"x" * 100))
    copied = scenario.api.post(
        f"{OBJECTS}/copy", params={"dest_path": "of-damaged"}, json={"src_path": "source"}
    )
    assert copied.status_code == 201
    assert scenario.get("of-damaged").status_code == 410


def test_verification_can_be_disabled(tmp_path):
    env = {"ANABRANCH_BLOCKSTORE_LOCAL_CHECKED_UP_TO_BYTES": "0"}
    with running_server(tmp_path, env=env) as server:
        scenario = scenario_over(server)
        body = {"name": "sea", "storage_namespace": "local://sea"}
        assert scenario.api.post("/repositories", json=body).status_code == 201
        flip(scenario.put("a", b"xyz"))
        assert scenario.get("a").content == b"yyz"
        scenario.file("a").unlink()
        assert scenario.api.head(READ, params={"path": "a"}).status_code == 410
        scenario.api.close()


@pytest.mark.slow
def test_damaged_metadata_is_not_reported_as_a_missing_folder_by_s3(scenario):
    body = {"name": "land", "storage_namespace": "local://land"}
    assert scenario.api.post("/repositories", json=body).status_code == 201
    made = scenario.api.post(
        "/repositories/land/branches/main/objects", params={"path": "a"}, content=b"x"
    )
    tables = Path(made.json()["physical_address"].removeprefix("local://")).parents[2] / "_lakefs"
    commit = scenario.api.post("/repositories/land/branches/main/commits", json={"message": "all"})
    table = tables / commit.json()["meta_range_id"]
    table.chmod(0o644)
    table.write_bytes(table.read_bytes()[:-20])
    with running_server(tables.parents[2], env=LOGS) as server:
        other = scenario_over(server)
        for operation, named in (
            ("list_objects_v2", {"Prefix": "main/"}),
            ("get_object", {"Key": "main/a"}),
        ):
            with pytest.raises(ClientError) as refused:
                getattr(other.s3, operation)(Bucket="land", **named)
            result = refused.value.response
            assert result["Error"]["Code"] == "DataDamaged"
            assert table.name in result["Error"]["Message"]
            assert result["ResponseMetadata"]["HTTPStatusCode"] == 409
            assert result["ResponseMetadata"]["RetryAttempts"] == 0
            assert table.name in other.failures()[-1]["msg"]
        other.api.close()
