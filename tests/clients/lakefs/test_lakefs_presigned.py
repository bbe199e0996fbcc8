"""lakefs and lakefs-sdk with presigned URLs, on a folder: bytes go straight to the store."""

from __future__ import annotations

import hashlib
import io
import re
from urllib.parse import parse_qs, urlsplit

import httpx2
import lakefs_sdk
import pytest
from lakefs.client import ServerConfiguration
from lakefs_spec import LakeFSFileSystem

from anabranch.keyvalue.postgres.database import PostgresDatabase
from anabranch.testing.server import running_server

CONTENT = b"stored by the client"


@pytest.fixture(autouse=True, scope="module")
def _configuration_of_these_servers():
    """The wrapper keeps the configuration of stores in its class, for the clients of all servers:
    what these servers say would count for others later.
    """
    kept = ServerConfiguration._storage_conf
    before = dict(kept)
    yield
    kept.clear()
    kept.update(before)


@pytest.fixture(scope="session")
def server(request, tmp_path_factory):
    """Servers that give presigned URLs: over a folder because they are set to, over S3 anyway."""
    if request.param == "cluster":
        yield request.getfixturevalue("cluster_server")
        return
    database = ""
    if request.param == "postgres":
        cluster = request.getfixturevalue("postgres_cluster")
        database = cluster.url(cluster.make_database())
        PostgresDatabase(database).migrate()
    env = {"ANABRANCH_BLOCKSTORE_LOCAL_PRE_SIGNED": "true"}
    with running_server(tmp_path_factory.mktemp("lake"), database=database, env=env) as running:
        yield running


def test_the_store_says_that_it_can(repo):
    config = repo.sdk.config_api.get_config().storage_config
    assert config.pre_sign_support
    assert config.pre_sign_multipart_upload


def test_an_object_is_read_and_written(repo, lake):
    thing = lake.branch("main").object("a b/é+%.csv")
    thing.upload(CONTENT, pre_sign=True, content_type="text/csv", metadata={"K": "v"})
    stat = repo.sdk.objects_api.stat_object(repo.id, "main", "a b/é+%.csv")
    assert stat.checksum == hashlib.md5(CONTENT, usedforsecurity=False).hexdigest()
    assert (stat.size_bytes, stat.content_type, stat.metadata) == (20, "text/csv", {"K": "v"})
    with thing.reader(pre_sign=True) as reader:
        assert reader.read() == CONTENT
        reader.seek(10)
        assert reader.read(3) == CONTENT[10:13]
    with thing.writer("w", pre_sign=True) as writer:
        writer.write("more")
    assert repo.get("a b/é+%.csv") == b"more"


def test_signed_addresses_in_stats_and_listings(repo):
    repo.put("a", CONTENT)
    stat = repo.sdk.objects_api.stat_object(repo.id, "main", "a", presign=True)
    assert httpx2.get(stat.physical_address).content == CONTENT
    (item,) = repo.sdk.objects_api.list_objects(repo.id, "main", presign=True).results
    assert httpx2.get(item.physical_address).content == CONTENT
    assert repo.sdk.objects_api.get_object(repo.id, "main", "a", presign=True) == CONTENT


def test_an_upload_in_parts(repo):
    api = repo.sdk.experimental_api
    parts = [b"a" * (5 << 20), b"end"]
    upload = api.create_presign_multipart_upload(repo.id, "main", "big", parts=2)
    etags = [
        httpx2.put(url, content=io.BytesIO(part)).headers["etag"]
        for url, part in zip(upload.presigned_urls, parts, strict=True)
    ]
    done = api.complete_presign_multipart_upload(
        repo.id,
        "main",
        upload.upload_id,
        "big",
        lakefs_sdk.CompletePresignMultipartUpload(
            physical_address=upload.physical_address,
            parts=[
                lakefs_sdk.UploadPart(part_number=number, etag=etag)
                for number, etag in enumerate(etags, 1)
            ],
        ),
    )
    assert done.size_bytes == len(b"".join(parts))
    assert repo.get("big") == b"".join(parts)


def part_of(repo, path, **fields):
    source = lakefs_sdk.CopyPartSource(repository=repo.id, ref="main", path=path, **fields)
    return lambda upload: lakefs_sdk.UploadPartCopyFrom(
        physical_address=upload.physical_address, copy_source=source
    )


def test_parts_are_copied_from_objects(repo, refused):
    api = repo.sdk.experimental_api
    content = b"a" * (5 << 20) + b"the end"
    repo.put("source", content)
    upload = api.create_presign_multipart_upload(repo.id, "main", "copy", parts=0)
    at = (repo.id, "main", upload.upload_id, "copy")
    end = f"bytes={5 << 20}-{len(content) - 1}"
    etags = [
        api.upload_part_copy_with_http_info(*at, number, source(upload)).headers["ETag"]
        for number, source in enumerate(
            [part_of(repo, "source"), part_of(repo, "source", range=end)], 1
        )
    ]
    with refused(404):
        api.upload_part_copy(*at, 3, part_of(repo, "none")(upload))
    with refused(416):
        api.upload_part_copy(*at, 3, part_of(repo, "source", range="bytes=9-1")(upload))
    completed = lakefs_sdk.CompletePresignMultipartUpload(
        physical_address=upload.physical_address,
        parts=[
            lakefs_sdk.UploadPart(part_number=number, etag=etag)
            for number, etag in enumerate(etags, 1)
        ],
    )
    api.complete_presign_multipart_upload(*at, complete_presign_multipart_upload=completed)
    assert repo.get("copy") == content + b"the end"


def test_an_aborted_upload_is_gone(repo, refused):
    api = repo.sdk.experimental_api
    upload = api.create_presign_multipart_upload(repo.id, "main", "big", parts=1)
    sent = httpx2.put(upload.presigned_urls[0], content=io.BytesIO(b"part"))
    aborted = lakefs_sdk.AbortPresignMultipartUpload(physical_address=upload.physical_address)
    at = (repo.id, "main", upload.upload_id, "big")
    api.abort_presign_multipart_upload(*at, abort_presign_multipart_upload=aborted)
    completed = lakefs_sdk.CompletePresignMultipartUpload(
        physical_address=upload.physical_address,
        parts=[lakefs_sdk.UploadPart(part_number=1, etag=sent.headers["etag"])],
    )
    with refused(404):
        api.complete_presign_multipart_upload(*at, complete_presign_multipart_upload=completed)
    assert repo.paths() == []


def test_urls_of_parts_say_when_they_expire(repo):
    """lakectl asks for a new URL before each part whose URL does not say so."""
    api = repo.sdk.experimental_api
    upload = api.create_presign_multipart_upload(repo.id, "main", "big", parts=1)
    asked = lakefs_sdk.UploadPartFrom(physical_address=upload.physical_address)
    another = api.upload_part(repo.id, "main", upload.upload_id, "big", 2, asked).presigned_url
    for url in (*upload.presigned_urls, another):
        query = parse_qs(urlsplit(url).query)
        (date,), (seconds,) = query["X-Amz-Date"], query["X-Amz-Expires"]
        assert re.fullmatch(r"\d{8}T\d{6}Z", date)
        assert 890 <= int(seconds) <= 900


def test_a_protected_branch_is_refused_at_the_link(repo, lake, refused):
    rule = lakefs_sdk.BranchProtectionRule(pattern="main")
    repo.sdk.repositories_api.set_branch_protection_rules(repo.id, [rule])
    with refused(403, "cannot write to protected branch"):
        lake.branch("main").object("a").upload(CONTENT, pre_sign=True)
    upload = repo.sdk.experimental_api.create_presign_multipart_upload(
        repo.id, "main", "a", parts=1
    )
    etag = httpx2.put(upload.presigned_urls[0], content=CONTENT).headers["etag"]
    part = lakefs_sdk.UploadPart(part_number=1, etag=etag)
    done = lakefs_sdk.CompletePresignMultipartUpload(
        physical_address=upload.physical_address, parts=[part]
    )
    with refused(403, "cannot write to protected branch"):
        repo.sdk.experimental_api.complete_presign_multipart_upload(
            repo.id, "main", upload.upload_id, "a", done
        )
    assert repo.paths() == []


def test_an_absent_branch_is_refused_at_the_link(repo, lake, refused):
    with refused(404, "branch not found"):
        lake.branch("absent").object("a").upload(CONTENT, pre_sign=True)
    with refused(404, "branch 'absent' not found"):
        repo.sdk.experimental_api.create_presign_multipart_upload(repo.id, "absent", "a")


def test_a_branch_is_created_as_a_file_is_opened(repo, credentials):
    """lakefs-spec creates branches that are not there, and then uploads by presigned URLs."""
    fs = LakeFSFileSystem(**credentials, skip_instance_cache=True, create_branch_ok=True)
    fs.pipe(f"lakefs://{repo.id}/one/a", CONTENT)
    with fs.open(f"lakefs://{repo.id}/two/a", "wb") as file:
        file.write(CONTENT)
    assert repo.get("a", "one") == repo.get("a", "two") == CONTENT
