"""Images over HTTP: built, tried, listed, described, read and deleted."""

from __future__ import annotations

import json

import pytest
from botocore.exceptions import ClientError
from support.clients.s3_client import s3_client

from anabranch.rest.openapi import openapi
from anabranch.rest.table import EXTENSIONS, OPERATIONS


@pytest.fixture(scope="module")
def sea(api):
    """A repository with the commit that `v1` tags."""
    body = {"name": "image-sea", "storage_namespace": "local://image-sea"}
    assert api.post("/repositories", json=body).status_code == 201
    for path, content in (("a/1", b"one"), ("a/2", b"two"), ("b", b"three")):
        where = "/repositories/image-sea/branches/main/objects"
        assert api.post(where, params={"path": path}, content=content).status_code == 201
    reply = api.post("/repositories/image-sea/branches/main/commits", json={"message": "m"})
    commit_id = reply.json()["id"]
    body = {"id": "v1", "ref": "main"}
    assert api.post("/repositories/image-sea/tags", json=body).status_code == 201
    return commit_id


def build(api, tag, text):
    """Builds an image, however long that takes, and returns it."""
    answer = api.post(f"/images/{tag}", content=text)
    if answer.status_code == 202:
        asked = {"id": answer.json()["id"]}
        while not (status := api.get(f"/images/{tag}:builds", params=asked).json())["completed"]:
            assert "error" not in status
        answer = api.get(f"/images/{tag}")
    else:
        assert answer.status_code == 201, answer.text
    return answer.json()


TEXT = "FROM lakefs://image-sea/v1\nADD lakefs://image-sea/v1/a/ c/\nLABEL author=jane\n"


def test_building_and_reading(api, sea):
    built = build(api, "first", TEXT)
    assert built["uri"] == "lakefs://image/first"
    assert (built["objects"], built["size_bytes"], built["shadowed"]) == (5, 17, 0)
    assert built["labels"] == {"author": "jane"}
    assert built["lakefile"] == TEXT
    assert [source["pinned"] for source in built["sources"]] == [
        f"lakefs://image-sea/{sea}",
        f"lakefs://image-sea/{sea}/a/",
    ]
    assert built["warnings"] == []
    assert api.get("/images/first").json() == built
    where = "/repositories/image/refs/first/objects"
    assert api.get(where, params={"path": "c/2"}).content == b"two"
    stat = api.get(f"{where}/stat", params={"path": "b"}).json()
    assert stat["size_bytes"] == 5
    assert api.post("/images/first", content=TEXT).status_code == 409
    status = api.get("/images/first:builds", params={"id": "first/none"})
    assert status.status_code == 404


@pytest.fixture(scope="module")
def s3(server):
    return s3_client(server, s3={"addressing_style": "path"}, retries={"total_max_attempts": 1})


@pytest.mark.usefixtures("sea")
def test_clients_of_s3_read_images_and_write_none(api, s3):
    build(api, "by-s3", TEXT)
    assert s3.get_object(Bucket="image", Key="by-s3/c/1")["Body"].read() == b"one"
    assert s3.head_object(Bucket="image", Key="by-s3/b")["ContentLength"] == 5
    found = s3.list_objects_v2(Bucket="image", Prefix="by-s3/", Delimiter="/")
    assert [each["Prefix"] for each in found["CommonPrefixes"]] == ["by-s3/a/", "by-s3/c/"]
    assert [each["Key"] for each in found["Contents"]] == ["by-s3/b"]
    with pytest.raises(ClientError, match="read-only repository"):
        s3.put_object(Bucket="image", Key="main/x", Body=b"x")
    for write in ("by-s3/x", "by-s3/b"):
        with pytest.raises(ClientError):
            s3.put_object(Bucket="image", Key=write, Body=b"x")
        with pytest.raises(ClientError):
            s3.delete_object(Bucket="image", Key=write)


@pytest.mark.usefixtures("sea")
def test_building_with_arguments_as_json(api):
    body = {"lakefile": "ARG PLACE\nADD lakefs://image-sea/main/${PLACE}/ /"}
    answer = api.post("/images/second", json=body)
    assert answer.status_code == 400
    assert answer.json()["message"].startswith("Lakefile:1:5: expected a value for the build")
    body["arguments"] = {"PLACE": "a"}
    answer = api.post("/images/second:resolve", json=body)
    assert answer.status_code == 200
    preview = answer.json()
    assert (preview["objects"], preview["arguments"]) == (2, {"PLACE": "a"})
    assert [warning["kind"] for warning in preview["warnings"]] == ["pinned"]
    assert api.post("/images/second", json={**body, "strict": True}).status_code == 400
    assert api.get("/images/second").status_code == 404
    text = body["lakefile"].replace("PLACE", "PLACE=a", 1)
    assert build(api, "second", text)["digest"] == preview["digest"]
    answer = api.post("/images/second-again", json=body, params={"wait": 0})
    assert answer.status_code in {201, 202}


@pytest.mark.usefixtures("sea")
def test_a_build_that_is_not_waited_for(api):
    answer = api.post("/images/later", content=TEXT, params={"wait": 0})
    if answer.status_code == 202:
        asked = {"id": answer.json()["id"]}
        while not (status := api.get("/images/later:builds", params=asked).json())["completed"]:
            assert "error" not in status
        assert status["commit_id"] == api.get("/images/later").json()["commit_id"]
    assert api.get("/images/later").json()["objects"] == 5


@pytest.mark.usefixtures("sea")
def test_listing_and_deleting(api):
    for tag in ("list:1", "list:2"):
        text = f"{TEXT}LABEL list=yes"
        build(api, tag, text)
    asked = {"label": "list=yes", "amount": 1}
    page = api.get("/images", params=asked).json()
    assert [image["tag"] for image in page["results"]] == ["list:1"]
    assert page["pagination"]["has_more"]
    asked["after"] = page["pagination"]["next_offset"]
    page = api.get("/images", params=asked).json()
    assert [image["tag"] for image in page["results"]] == ["list:2"]
    assert api.get("/images", params={"label": "list"}).status_code == 400
    assert api.delete("/images/list:1").status_code == 204
    assert api.delete("/images/list:1").status_code == 404
    page = api.get("/images", params={"label": ["list=yes", "author=jane"]}).json()
    assert [image["tag"] for image in page["results"]] == ["list:2"]


@pytest.mark.usefixtures("sea")
def test_a_repository_that_images_hold_is_not_deleted(api):
    build(api, "holds", TEXT)
    answer = api.delete("/repositories/image-sea")
    assert answer.status_code == 409
    assert "images reference objects of image-sea: " in answer.json()["message"]


@pytest.mark.parametrize(
    ("content", "headers", "status"),
    [
        (b"\xff", {}, 400),
        (b"#" * ((1 << 20) + 1), {}, 400),
        (b"#" * ((8 << 20) + 1), {}, 413),
        (b"{", {"Content-Type": "application/json"}, 400),
        (b'{"lakefile": 1}', {"Content-Type": "application/json"}, 400),
        (b"FROM lakefs://image:none", {}, 404),
    ],
)
def test_errors_name_the_problem(api, content, headers, status):
    for path in ("/images/wrong", "/images/wrong:resolve"):
        answer = api.post(path, content=content, headers=headers)
        assert answer.status_code == status
    assert api.get("/images/wrong").status_code == 404


def test_the_operations_are_described():
    document = json.loads(json.dumps(openapi((*OPERATIONS, *EXTENSIONS))))
    described = document["paths"]["/images/{tag}"]["post"]
    assert set(described["requestBody"]["content"]) == {"text/plain", "application/json"}
    assert set(described["responses"]) == {"201", "202", "default"}
    assert described["x-permissions"] == ["fs:CreateImage"]
    assert all(operation.permission for operation in EXTENSIONS)
