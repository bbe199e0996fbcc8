"""lakefs-sdk: objects that the client stores itself."""

from __future__ import annotations

import hashlib
from pathlib import Path

import lakefs_sdk
import pytest

CONTENT = b"stored by the client"
CHECKSUM = hashlib.md5(CONTENT, usedforsecurity=False).hexdigest()


@pytest.fixture
def store(request):
    """Returns a function that writes the content to an address, as clients of the store do."""

    def write(location):
        scheme, _, place = location.physical_address.partition("://")
        if scheme == "s3":
            service = request.getfixturevalue("s3_service")
            service.blocks().put(location.physical_address, [CONTENT])
            return
        file = Path(place)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(CONTENT)

    return write


@pytest.fixture
def located(repo, store):
    """An address for `a`, with the content stored at it."""
    location = repo.sdk.staging_api.get_physical_address(repo.id, "main", "a")
    assert location.presigned_url is None
    store(location)
    return location


def link(repo, location, path="a", **fields):
    conditions = {key: fields.pop(key) for key in ("if_none_match",) if key in fields}
    metadata = lakefs_sdk.StagingMetadata(
        staging=lakefs_sdk.StagingLocation(physical_address=location.physical_address),
        **{"checksum": CHECKSUM, "size_bytes": len(CONTENT)} | fields,
    )
    return repo.sdk.staging_api.link_physical_address(
        repo.id, "main", path, staging_metadata=metadata, **conditions
    )


def test_address_is_in_the_namespace_of_the_repository(repo, located, server):
    assert located.physical_address.startswith(server.storage)
    assert f"/{repo.id}/data/" in located.physical_address
    other = repo.sdk.staging_api.get_physical_address(repo.id, "main", "a")
    assert other.physical_address != located.physical_address


def test_linked_object_exists(repo, located):
    made = link(
        repo,
        located,
        content_type="text/plain",
        user_metadata={"colour": "blue"},
        mtime=1_700_000_000,
    )
    assert made.checksum == CHECKSUM
    found = repo.sdk.objects_api.stat_object(repo.id, "main", "a")
    assert (found.size_bytes, found.content_type) == (len(CONTENT), "text/plain")
    assert (found.metadata, found.mtime) == ({"colour": "blue"}, 1_700_000_000)
    assert repo.commit().message == "A commit"


def test_a_link_may_be_refused_where_there_is_an_object(repo, located, refused):
    repo.put("a", b"here already")
    with refused(412, "path already exists"):
        link(repo, located, if_none_match="*")
    assert repo.get("a") == b"here already"


def test_a_link_needs_a_checksum(repo, located, refused):
    with refused(400, "checksum is required"):
        link(repo, located, checksum="")
    assert repo.paths() == []


def test_a_link_needs_the_bytes(repo, store, refused):
    location = repo.sdk.staging_api.get_physical_address(repo.id, "main", "a")
    with refused(400, f"link address empty: no object is stored at {location.physical_address}"):
        link(repo, location)
    store(location)
    stated = len(CONTENT) + 1
    message = f"the stored object has {len(CONTENT)} bytes, the request says {stated}"
    with refused(400, f"link size mismatch: {message}"):
        link(repo, location, size_bytes=stated)
    assert repo.paths() == []


def test_a_link_needs_a_branch(repo, store, refused):
    location = repo.sdk.staging_api.get_physical_address(repo.id, "later", "a")
    store(location)
    metadata = lakefs_sdk.StagingMetadata(
        staging=location, checksum=CHECKSUM, size_bytes=len(CONTENT)
    )
    with refused(404, "branch not found"):
        repo.sdk.staging_api.link_physical_address(repo.id, "later", "a", metadata)
    repo.branch("later")
    repo.sdk.staging_api.link_physical_address(repo.id, "later", "a", metadata)
    assert repo.paths("later") == ["a"]


def test_an_address_needs_a_repository(repo, refused):
    with refused(404, "repository not found"):
        repo.sdk.staging_api.get_physical_address("no-such-repository", "main", "a")


def test_an_object_of_the_store_is_staged(repo):
    address = repo.put("a", CONTENT).physical_address
    creation = lakefs_sdk.ObjectStageCreation(
        physical_address=address,
        checksum=CHECKSUM,
        size_bytes=len(CONTENT),
        mtime=1_700_000_000,
        content_type="text/plain",
    )
    made = repo.sdk.internal_api.stage_object(repo.id, "main", "b", creation)
    assert (made.path, made.mtime, made.content_type) == ("b", 1_700_000_000, "text/plain")
    assert repo.get("b") == CONTENT


def test_an_address_outside_the_store_is_refused(repo, refused):
    creation = lakefs_sdk.ObjectStageCreation(
        physical_address="local:///etc/passwd", checksum=CHECKSUM, size_bytes=1
    )
    with refused(403, "forbidden"):
        repo.sdk.internal_api.stage_object(repo.id, "main", "b", creation)
    assert repo.paths() == []
