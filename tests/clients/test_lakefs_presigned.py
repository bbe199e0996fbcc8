"""lakefs and lakefs-sdk with presigned URLs, on a folder: bytes go straight to the store."""

from __future__ import annotations

import hashlib
import io

import httpx2
import lakefs_sdk

CONTENT = b"stored by the client"


def test_the_store_says_that_it_can(repo):
    config = repo.sdk.config_api.get_config().storage_config
    assert config.pre_sign_support
    assert config.pre_sign_multipart_upload


def test_an_object_is_read_and_written(repo, lake):
    thing = lake.branch("main").object("a b/é+%.csv")
    thing.upload(CONTENT, pre_sign=True, content_type="text/csv", metadata={"k": "v"})
    stat = repo.sdk.objects_api.stat_object(repo.id, "main", "a b/é+%.csv")
    assert stat.checksum == hashlib.md5(CONTENT, usedforsecurity=False).hexdigest()
    assert (stat.size_bytes, stat.content_type, stat.metadata) == (20, "text/csv", {"k": "v"})
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
