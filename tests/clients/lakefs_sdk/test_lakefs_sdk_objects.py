"""lakefs-sdk: objects uploaded, read, described, copied, deleted."""

from __future__ import annotations

import hashlib
import time

import lakefs_sdk
import pytest
from lakefs_sdk.exceptions import ApiException


def stat(repo, path, ref="main", **parameters):
    return repo.sdk.objects_api.stat_object(repo.id, ref, path, **parameters)


def md5(content):
    return hashlib.md5(content, usedforsecurity=False).hexdigest()


@pytest.mark.wiring
def test_an_uploaded_object_is_described(repo, server):
    made = repo.put("dir/a.bin", b"some bytes")
    assert made.path == "dir/a.bin"
    assert made.path_type == "object"
    assert made.checksum == md5(b"some bytes")
    assert made.size_bytes == 10
    assert made.content_type == "application/octet-stream"
    assert abs(made.mtime - time.time()) < 60
    assert made.physical_address.startswith(server.storage)
    assert f"/{repo.id}/data/" in made.physical_address
    assert stat(repo, "dir/a.bin") == made
    assert stat(repo, "dir/a.bin").metadata == {}
    assert stat(repo, "dir/a.bin", user_metadata=False).metadata in (None, {})


@pytest.mark.parametrize("size", [1, 1000, 1 << 16, 3_000_001])
def test_uploaded_object_is_readable(repo, size):
    content = bytes(i * 7 % 251 for i in range(size))
    assert repo.put("a", content).size_bytes == size
    assert repo.get("a") == content
    repo.commit()
    assert repo.get("a", repo.head().id) == content


def test_the_headers_of_an_object_are_those_of_lakefs(repo):
    repo.put("a", b"some bytes")
    answer = repo.sdk.objects_api.get_object_with_http_info(repo.id, "main", "a")
    assert answer.headers["ETag"] == f'"{md5(b"some bytes")}"'
    assert answer.headers["Content-Length"] == "10"
    assert answer.headers["Content-Type"] == "application/octet-stream"
    assert answer.headers["Cache-Control"] == "no-store, must-revalidate"
    assert answer.headers["Last-Modified"].endswith(" GMT")
    head = repo.sdk.objects_api.head_object_with_http_info(repo.id, "main", "a")
    assert head.headers["ETag"] == answer.headers["ETag"]
    assert head.headers["Content-Length"] == "10"


def test_a_later_upload_replaces(repo):
    repo.save("a", b"one")
    repo.put("a", b"two")
    assert repo.get("a") == b"two"
    assert repo.get("a", "main@") == b"one"
    assert repo.get("a", "main$") == b"two"


def test_a_part_is_read_by_its_range(repo):
    content = bytes(range(256)) * 40
    repo.put("a", content)
    api = repo.sdk.objects_api
    for asked, wanted in {
        "bytes=0-9": content[:10],
        "bytes=100-": content[100:],
        "bytes=-7": content[-7:],
        "bytes=10000-99999": content[10000:],
        "bytes=5-5": content[5:6],
    }.items():
        answer = api.get_object_with_http_info(repo.id, "main", "a", range=asked)
        assert answer.status_code == 206
        assert bytes(answer.data) == wanted
        assert answer.headers["Content-Range"].endswith(f"/{len(content)}")
    head = api.head_object_with_http_info(repo.id, "main", "a", range="bytes=0-9")
    assert (head.status_code, head.headers["Content-Length"]) == (206, "10")


@pytest.mark.parametrize("asked", ["bytes=10240-", "bytes=3-1", "bytes=0-1,3-4"])
def test_a_range_that_cannot_be_is_refused(repo, asked):
    repo.put("a", bytes(10240))
    with pytest.raises(ApiException) as caught:
        repo.sdk.objects_api.get_object(repo.id, "main", "a", range=asked)
    assert caught.value.status == 416
    # that the range lies beyond the end, the answer tells with the size
    if asked == "bytes=10240-":
        assert caught.value.headers["Content-Range"] == "bytes */10240"


def test_an_object_that_one_has_is_not_sent_again(repo):
    etag = f'"{repo.put("a", b"one").checksum}"'
    api = repo.sdk.objects_api
    with pytest.raises(ApiException) as caught:
        api.get_object(repo.id, "main", "a", if_none_match=etag)
    assert caught.value.status == 304
    assert bytes(api.get_object(repo.id, "main", "a", if_none_match='"other"')) == b"one"


def test_an_upload_may_be_refused_where_there_is_an_object(repo, refused):
    api = repo.sdk.objects_api
    api.upload_object(repo.id, "main", "a", content=b"one", if_none_match="*")
    with refused(412, "path already exists"):
        api.upload_object(repo.id, "main", "a", content=b"two", if_none_match="*")
    repo.commit()
    with refused(412, "path already exists"):
        api.upload_object(repo.id, "main", "a", content=b"two", if_none_match="*")
    assert repo.get("a") == b"one"
    repo.delete("a")
    api.upload_object(repo.id, "main", "a", content=b"two", if_none_match="*")
    assert repo.get("a") == b"two"


def test_conditions_that_lakefs_does_not_know_are_not_implemented(repo, refused):
    api = repo.sdk.objects_api
    with refused(501):
        api.upload_object(repo.id, "main", "a", content=b"1", if_none_match='"abc"')
    with refused(501):
        api.upload_object(repo.id, "main", "a", content=b"1", if_match='"abc"')
    assert repo.paths() == []


def test_objects_are_listed_by_prefix_delimiter_and_page(repo):
    paths = ["a/1", "a/2", "a/b/3", "b", "b/4", "c"]
    for path in reversed(paths):
        repo.put(path)
    assert repo.paths() == paths
    api = repo.sdk.objects_api
    top = api.list_objects(repo.id, "main", delimiter="/").results
    assert [(item.path, item.path_type) for item in top] == [
        ("a/", "common_prefix"),
        ("b", "object"),
        ("b/", "common_prefix"),
        ("c", "object"),
    ]
    inner = api.list_objects(repo.id, "main", prefix="a/", delimiter="/").results
    assert [item.path for item in inner] == ["a/1", "a/2", "a/b/"]
    page = api.list_objects(repo.id, "main", amount=2)
    assert [item.path for item in page.results] == ["a/1", "a/2"]
    assert (page.pagination.has_more, page.pagination.next_offset) == (True, "a/2")
    rest = api.list_objects(repo.id, "main", after="a/2", prefix="a/")
    assert [item.path for item in rest.results] == ["a/b/3"]
    after_prefix = api.list_objects(repo.id, "main", delimiter="/", after="a/", amount=2)
    assert [item.path for item in after_prefix.results] == ["b", "b/"]


def test_a_listing_shows_what_is_staged_over_what_is_committed(repo):
    for path in ("a", "b", "d"):
        repo.put(path, b"one")
    repo.commit()
    repo.delete("a")
    repo.put("c", b"new")
    repo.put("d", b"changed")
    listed = repo.sdk.objects_api.list_objects(repo.id, "main").results
    assert [(item.path, item.size_bytes) for item in listed] == [("b", 3), ("c", 3), ("d", 7)]
    assert repo.paths("main@") == ["a", "b", "d"]


def test_an_object_is_copied_with_its_metadata(repo):
    source = repo.put("a", b"one")
    described = lakefs_sdk.UpdateObjectUserMetadata(set={"colour": "blue"})
    repo.sdk.experimental_api.update_object_user_metadata(repo.id, "main", "a", described)
    commit = repo.commit()
    repo.delete("a")
    repo.branch("side")
    copied = repo.sdk.objects_api.copy_object(
        repo.id, "side", "b", lakefs_sdk.ObjectCopyCreation(src_path="a", src_ref=commit.id)
    )
    assert copied.path == "b"
    assert copied.checksum == source.checksum
    assert copied.physical_address != source.physical_address
    assert copied.metadata == {"colour": "blue"}
    assert repo.get("b", "side") == b"one"
    within = lakefs_sdk.ObjectCopyCreation(src_path="b")
    repo.sdk.objects_api.copy_object(repo.id, "side", "c", within)
    assert repo.paths("side") == ["a", "b", "c"]


def test_a_copy_needs_a_source_and_a_branch(repo, refused):
    copy = repo.sdk.objects_api.copy_object
    repo.put("a")
    with refused(404, "not found"):
        copy(repo.id, "main", "b", lakefs_sdk.ObjectCopyCreation(src_path="nope"))
    with refused(404):
        copy(repo.id, "nope", "b", lakefs_sdk.ObjectCopyCreation(src_path="a", src_ref="main"))
    assert repo.paths() == ["a"]


def test_shallow_copy_refers_to_the_bytes_of_the_source(repo):
    original = repo.put("a")
    creation = lakefs_sdk.ObjectCopyCreation(src_path="a", shallow=True)
    copied = repo.sdk.objects_api.copy_object(repo.id, "main", "b", creation)
    stat = repo.sdk.objects_api.stat_object(repo.id, "main", "a")
    assert copied.physical_address == stat.physical_address, original
    assert repo.paths() == ["a", "b"]


def test_user_metadata_is_replaced(repo, refused):
    update = repo.sdk.experimental_api.update_object_user_metadata
    repo.save("a")
    for metadata in ({"one": "1", "two": "2"}, {"two": "3"}):
        update(repo.id, "main", "a", lakefs_sdk.UpdateObjectUserMetadata(set=metadata))
    assert stat(repo, "a").metadata == {"two": "3"}
    assert stat(repo, "a", "main@").metadata == {}
    with refused(404):
        update(repo.id, "main", "nope", lakefs_sdk.UpdateObjectUserMetadata(set={}))


def test_a_deleted_object_is_gone_and_deleting_again_is_no_error(repo, refused):
    repo.save("a")
    repo.delete("a")
    repo.delete("a")
    repo.delete("never-was")
    with refused(404, "not found"):
        stat(repo, "a")
    assert stat(repo, "a", "main@").path == "a"
    repo.commit("Remove")
    assert repo.paths("main@") == []


def test_many_objects_are_deleted_at_once(repo, refused):
    for path in ("a", "b", "c"):
        repo.put(path)
    delete = repo.sdk.objects_api.delete_objects
    answer = delete(repo.id, "main", lakefs_sdk.PathList(paths=["a", "c", "never-was"]))
    assert answer.errors == []
    assert repo.paths() == ["b"]
    with refused(400, "request size exceeded, max paths is set to 1000"):
        delete(repo.id, "main", lakefs_sdk.PathList(paths=["b"] * 1001))
    assert repo.paths() == ["b"]


def test_unknown_resource_is_not_found(repo, refused):
    api = repo.sdk.objects_api
    with refused(404, "not found"):
        stat(repo, "nope")
    with refused(404, "not found"):
        repo.get("nope")
    with refused(404, "not found"):
        api.list_objects(repo.id, "nope")
    with refused(404, "branch 'nope' not found"):
        repo.put("a", branch="nope")
    with pytest.raises(ApiException) as caught:
        api.head_object(repo.id, "main", "nope")
    assert caught.value.status == 404


def test_a_commit_takes_no_upload(repo, refused):
    commit = repo.save("a")
    with refused(404):
        repo.put("b", branch=commit.id)


def test_underlying_properties_of_an_object(repo, server, refused):
    repo.put("a")
    properties = repo.sdk.objects_api.get_underlying_properties(repo.id, "main", "a")
    assert properties.storage_class == ("STANDARD" if server.storage.startswith("s3:") else None)
    with refused(404):
        repo.sdk.objects_api.get_underlying_properties(repo.id, "main", "none")


def test_an_upload_may_name_a_storage_class(repo, server, refused):
    on_s3 = server.storage.startswith("s3:")
    api = repo.sdk.objects_api
    api.upload_object(repo.id, "main", "a", content=b"1", storage_class="REDUCED_REDUNDANCY")
    properties = api.get_underlying_properties(repo.id, "main", "a")
    assert properties.storage_class == ("REDUCED_REDUNDANCY" if on_s3 else None)
    assert repo.get("a") == b"1"
    if on_s3:
        with refused(400):
            api.upload_object(repo.id, "main", "b", content=b"1", storage_class="LUKEWARM")
        assert repo.paths() == ["a"]


def test_an_upload_may_be_asked_for_before(repo, refused):
    repo.sdk.internal_api.upload_object_preflight(repo.id, "main", "a")
    with refused(404):
        repo.sdk.internal_api.upload_object_preflight(repo.id, "nope", "a")


def test_symlink_manifests_name_the_addresses_of_each_folder(repo, sdk):
    for path in ("t/day=1/a", "t/day=1/b", "t/day=2/a", "t/day=10/x/deep", "t/day=10/y", "other"):
        repo.put(path)
    location = sdk.internal_api.create_symlink_file(repo.id, "main", location="t/").location
    assert location.endswith("/symlinks")
    listed = sdk.objects_api.list_objects(repo.id, "main", prefix="t/", amount=1000).results
    folders = {}
    for item in listed:
        folders.setdefault(item.path.rpartition("/")[0], []).append(item.physical_address)
    for folder, addresses in folders.items():
        manifest = f"{location}/{repo.id}/main/{folder}/symlink.txt"
        text = "".join(f"{address}\n" for address in addresses).encode()
        staged = lakefs_sdk.ObjectStageCreation(
            physical_address=manifest, checksum="0" * 32, size_bytes=len(text)
        )
        sdk.internal_api.stage_object(repo.id, "main", "manifest", staged)
        assert repo.get("manifest") == text


def test_symlink_manifests_of_nothing_are_no_error(repo, sdk, refused):
    assert sdk.internal_api.create_symlink_file(repo.id, "main").location
    with refused(404):
        sdk.internal_api.create_symlink_file(repo.id, "none")
