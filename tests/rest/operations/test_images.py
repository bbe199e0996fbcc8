"""Images over HTTP: builds, previews, listings, descriptions, reads and deletions."""

from __future__ import annotations

import json

import pytest
from botocore.exceptions import ClientError
from support.clients.s3_client import s3_client

from anabranch.rest.openapi import openapi
from anabranch.rest.table import EXTENSIONS, OPERATIONS


@pytest.fixture(scope="module")
def tagged_commit(api):
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
    """Builds an image, waits for it, and returns it."""
    response = api.post(f"/images/{tag}", content=text)
    if response.status_code == 202:
        params = {"id": response.json()["id"]}
        while not (status := api.get(f"/images/{tag}:builds", params=params).json())["completed"]:
            assert "error" not in status
        response = api.get(f"/images/{tag}")
    else:
        assert response.status_code == 201, response.text
    return response.json()


TEXT = "FROM lakefs://image-sea/v1\nADD lakefs://image-sea/v1/a/ c/\nLABEL author=jane\n"


def test_a_built_image_can_be_read(api, tagged_commit):
    built = build(api, "first", TEXT)
    assert built["uri"] == "lakefs://image/first"
    assert (built["objects"], built["size_bytes"], built["shadowed"]) == (5, 17, 0)
    assert built["labels"] == {"author": "jane"}
    assert built["lakefile"] == TEXT
    assert [source["pinned"] for source in built["sources"]] == [
        f"lakefs://image-sea/{tagged_commit}",
        f"lakefs://image-sea/{tagged_commit}/a/",
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


@pytest.mark.usefixtures("tagged_commit")
def test_s3_clients_can_read_but_not_write_images(api, s3):
    build(api, "by-s3", TEXT)
    assert s3.get_object(Bucket="image", Key="by-s3/c/1")["Body"].read() == b"one"
    assert s3.head_object(Bucket="image", Key="by-s3/b")["ContentLength"] == 5
    listed = s3.list_objects_v2(Bucket="image", Prefix="by-s3/", Delimiter="/")
    assert [each["Prefix"] for each in listed["CommonPrefixes"]] == ["by-s3/a/", "by-s3/c/"]
    assert [each["Key"] for each in listed["Contents"]] == ["by-s3/b"]
    with pytest.raises(ClientError, match="read-only repository"):
        s3.put_object(Bucket="image", Key="main/x", Body=b"x")
    for write in ("by-s3/x", "by-s3/b"):
        with pytest.raises(ClientError):
            s3.put_object(Bucket="image", Key=write, Body=b"x")
        with pytest.raises(ClientError):
            s3.delete_object(Bucket="image", Key=write)


@pytest.mark.usefixtures("tagged_commit")
def test_a_build_with_arguments_may_be_sent_as_json(api):
    body = {"lakefile": "ARG PLACE\nADD lakefs://image-sea/main/${PLACE}/ /"}
    response = api.post("/images/second", json=body)
    assert response.status_code == 400
    assert response.json()["message"].startswith("Lakefile:1:5: expected a value for the build")
    body["arguments"] = {"PLACE": "a"}
    response = api.post("/images/second:resolve", json=body)
    assert response.status_code == 200
    preview = response.json()
    assert (preview["objects"], preview["arguments"]) == (2, {"PLACE": "a"})
    assert [warning["kind"] for warning in preview["warnings"]] == ["pinned"]
    assert api.post("/images/second", json={**body, "strict": True}).status_code == 400
    assert api.get("/images/second").status_code == 404
    text = body["lakefile"].replace("PLACE", "PLACE=a", 1)
    assert build(api, "second", text)["digest"] == preview["digest"]
    response = api.post("/images/second-again", json=body, params={"wait": 0})
    assert response.status_code in {201, 202}


@pytest.mark.usefixtures("tagged_commit")
def test_a_build_may_run_in_the_background(api):
    response = api.post("/images/later", content=TEXT, params={"wait": 0})
    if response.status_code == 202:
        params = {"id": response.json()["id"]}
        while not (status := api.get("/images/later:builds", params=params).json())["completed"]:
            assert "error" not in status
        assert status["commit_id"] == api.get("/images/later").json()["commit_id"]
    assert api.get("/images/later").json()["objects"] == 5


@pytest.mark.usefixtures("tagged_commit")
def test_images_are_listed_by_label_and_deleted(api):
    for tag in ("list:1", "list:2"):
        text = f"{TEXT}LABEL list=yes"
        build(api, tag, text)
    params = {"label": "list=yes", "amount": 1}
    page = api.get("/images", params=params).json()
    assert [image["tag"] for image in page["results"]] == ["list:1"]
    assert page["pagination"]["has_more"]
    params["after"] = page["pagination"]["next_offset"]
    page = api.get("/images", params=params).json()
    assert [image["tag"] for image in page["results"]] == ["list:2"]
    assert api.get("/images", params={"label": "list"}).status_code == 400
    assert api.delete("/images/list:1").status_code == 204
    assert api.delete("/images/list:1").status_code == 404
    page = api.get("/images", params={"label": ["list=yes", "author=jane"]}).json()
    assert [image["tag"] for image in page["results"]] == ["list:2"]


@pytest.mark.usefixtures("tagged_commit")
def test_a_repository_referenced_by_images_is_not_deleted(api):
    build(api, "holds", TEXT)
    response = api.delete("/repositories/image-sea")
    assert response.status_code == 409
    assert "images reference objects of image-sea: " in response.json()["message"]


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
        response = api.post(path, content=content, headers=headers)
        assert response.status_code == status
    assert api.get("/images/wrong").status_code == 404


def test_openapi_describes_the_operations():
    document = json.loads(json.dumps(openapi((*OPERATIONS, *EXTENSIONS))))
    described = document["paths"]["/images/{tag}"]["post"]
    assert set(described["requestBody"]["content"]) == {"text/plain", "application/json"}
    assert set(described["responses"]) == {"201", "202", "default"}
    assert described["x-permissions"] == ["fs:CreateImage"]
    assert all(operation.permission for operation in EXTENSIONS)
