"""The operations of S3A, Hadoop's S3 client, which Spark and Hadoop's programs use."""

from __future__ import annotations

import hashlib
import random
from base64 import b64encode
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import pytest
from lakefs_sdk import TagCreation
from py4j.protocol import Py4JJavaError
from pyspark.errors.exceptions.base import PySparkException
from support.clients.s3_client import s3_client
from support.services.hadoop import HadoopFileSystem, shell
from support.session.sizes import sized

pytestmark = pytest.mark.timeout(600)

CONTENT = random.Random(3).randbytes(700_000)


@pytest.fixture
def system(spark, repo):
    """S3A on a new repository."""
    with closing(HadoopFileSystem(spark, f"s3a://{repo.id}")) as opened:
        yield opened


@pytest.fixture
def system_with(spark, repo):
    """Returns a function that opens S3A with settings, whose names omit `fs.s3a.`."""
    systems = []

    def make(**settings):
        named = {f"fs.s3a.{name.replace('_', '.')}": value for name, value in settings.items()}
        systems.append(HadoopFileSystem(spark, f"s3a://{repo.id}", named))
        return systems[-1]

    yield make
    for each in systems:
        each.close()


@pytest.fixture
def boto(server):
    """A boto3 client, for concurrent requests."""
    return s3_client(server, s3={"addressing_style": "path"})


def error_of(call, *arguments, **options):
    """Returns the message of the Java exception that a call raises."""
    with pytest.raises((Py4JJavaError, PySparkException)) as caught:
        call(*arguments, **options)
    return str(caught.value)


def test_files_and_folders_have_status_and_content(system, repo):
    system.mkdirs("main/empty/inner")
    system.write("main/data/a.bin", CONTENT)
    assert repo.paths() == ["data/a.bin", "empty/inner/"]

    assert system.read("main/data/a.bin") == CONTENT
    file, folder = system.status("main/data/a.bin"), system.status("main/data")
    assert (file.length, file.folder, folder.folder) == (len(CONTENT), False, True)
    assert system.status("main/empty").folder
    assert system.status("main/empty/inner").folder
    assert not system.exists("main/nothing")
    assert "FileNotFoundException" in error_of(system.status, "main/nothing")

    names = [(each.path.partition("main/")[2], each.folder) for each in system.list("main")]
    assert names == [("data", True), ("empty", True)]
    assert system.list("main/empty/inner") == []


def test_branches_are_folders_of_the_root(system, repo):
    repo.save("a.txt")
    repo.branch("dev")
    assert [each.path.rpartition("/")[2] for each in system.list("")] == ["dev", "main"]
    repo.put("b.txt", branch="dev")
    assert [system.exists(path) for path in ("dev/b.txt", "main/b.txt", "dev~1/a.txt")] == [
        True,
        False,
        False,
    ]


@pytest.mark.slow  # large files are renamed below
def test_rename_keeps_checksums(system, repo):
    system.write("main/a/one.bin", CONTENT)
    system.write("main/a/inner/two.bin", b"two")
    before = repo.sdk.objects_api.stat_object(repo.id, "main", "a/one.bin")
    system.mkdirs("main/b")
    assert system.rename("main/a", "main/b/c")
    after = repo.sdk.objects_api.stat_object(repo.id, "main", "b/c/one.bin")
    assert (before.checksum, before.size_bytes) == (after.checksum, after.size_bytes)
    assert repo.paths() == ["b/", "b/c/inner/two.bin", "b/c/one.bin"]
    assert system.read("main/b/c/one.bin") == CONTENT


def test_branch_stays_after_its_last_folder_is_deleted(system, repo):
    system.write("main/a/b/c.txt", b"c")
    assert system.delete("main/a/b")
    assert repo.paths() == ["a/"]
    assert system.delete("main/a")
    assert repo.paths() == []
    system.write("main/again.txt", b"again")
    assert repo.paths() == ["again.txt"]


def test_folder_of_many_files_is_listed_and_deleted_in_pages(system, system_with, repo, boto):
    paths = [f"many/{number % 7}/{number:05d}" for number in range(sized(140, weekly=1050))]

    def put(path):
        boto.put_object(Bucket=repo.id, Key=f"main/{path}", Body=path.encode())

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(put, paths))
    root = f"s3a://{repo.id}/main/"
    assert [each.path for each in system.walk("main/many")] == sorted(root + x for x in paths)
    assert len(system.list("main/many")) == 7
    in_pages = system_with(paging_maximum="10")
    listed = sorted(root + path for path in paths if path.startswith("many/3/"))
    assert [each.path for each in in_pages.list("main/many/3")] == listed
    assert in_pages.count("object_continue_list_request") >= len(listed) // 10 - 1 > 0
    assert system.delete("main/many")
    assert repo.paths() == []


@pytest.mark.slow  # the same operations by Hadoop's own commands
def test_shell_commands(spark, repo, tmp_path):
    root = f"s3a://{repo.id}/main"
    (tmp_path / "local.txt").write_bytes(b"line\n")
    for arguments in (
        ("-mkdir", "-p", f"{root}/in"),
        ("-put", str(tmp_path / "local.txt"), f"{root}/in/"),
        ("-cp", f"{root}/in/local.txt", f"{root}/in/copy.txt"),
        ("-mv", f"{root}/in/copy.txt", f"{root}/in/moved with space.txt"),
        ("-touchz", f"{root}/in/empty"),
        ("-test", "-e", f"{root}/in/local.txt"),
        ("-get", f"{root}/in/local.txt", str(tmp_path / "back.txt")),
    ):
        assert shell(spark, *arguments)[0] == 0, arguments
    assert (tmp_path / "back.txt").read_bytes() == b"line\n"
    assert shell(spark, "-cat", f"{root}/in/moved with space.txt") == (0, "line\n")
    listed = shell(spark, "-ls", "-R", root)[1].splitlines()
    assert [line.partition("main/")[2] for line in listed] == [
        "in",
        "in/empty",
        "in/local.txt",
        "in/moved with space.txt",
    ]
    assert shell(spark, "-count", root)[1].split()[:3] == ["2", "3", "10"]
    assert shell(spark, "-rm", "-r", "-skipTrash", f"{root}/in")[0] == 0
    assert shell(spark, "-test", "-e", f"{root}/in")[0] == 1
    assert repo.paths() == []


@pytest.mark.parametrize("stream", ["classic", "prefetch", "analytics"])
@pytest.mark.sample(1)
def test_reads_with_each_stream_and_policy(system_with, stream):
    system = system_with(input_stream_type=stream)
    system.write("main/a.bin", CONTENT)
    for policy in ("sequential", "random", "whole-file"):
        with system.open("main/a.bin", read_policy=policy) as opened:
            for start, length in ((600_000, 1000), (5, 5), (0, 1), (len(CONTENT) - 3, 100)):
                assert opened.read_at(start, length) == CONTENT[start : start + length]
            assert opened.read_at(0, len(CONTENT)) == CONTENT
            # adjacent ranges are merged into one request; the distant one is a separate request
            ranges = [(100, 50), (200, 1000), (500_000, 100_000), (0, 10)]
            assert opened.read_ranges(ranges) == [CONTENT[at : at + size] for at, size in ranges]
            assert "EOFException" in error_of(opened.read_ranges, [(len(CONTENT) - 1, 2)])


@pytest.mark.slow  # conditional writes have the same check
def test_read_of_an_overwritten_file_fails(system, system_with):
    for settings in ({}, {"change_detection_mode": "client"}):
        reader = system_with(**settings)
        system.write("main/a.bin", CONTENT)
        with reader.open("main/a.bin", read_policy="random") as opened:
            assert opened.read_at(0, 10) == CONTENT[:10]
            system.write("main/a.bin", CONTENT[::-1])
            assert "RemoteFileChangedException" in error_of(opened.read_at, 500_000, 10)


def test_change_detection_by_version_id_fails(system_with):
    system = system_with(change_detection_source="versionid")
    system.write("main/a.txt", b"a")
    assert "NoVersionAttributeException" in error_of(system.read, "main/a.txt")


# with SHA1 and SHA256, over plain HTTP, this version of the AWS SDK computes each digest twice, the
# second time of an empty body, which AWS refuses as well (aws-sdk-java-v2, issue 5498)
@pytest.mark.parametrize("algorithm", ["CRC32", "CRC32C"])
@pytest.mark.sample(1)
def test_uploads_with_checksums(system_with, algorithm):
    system = system_with(create_checksum_algorithm=algorithm, checksum_validation="true")
    system.write("main/a.bin", CONTENT)
    system.write("main/none", b"")
    assert system.read("main/a.bin") == CONTENT
    assert system.read("main/none") == b""


def test_checksum_of_a_file_is_its_etag(system_with, repo):
    system = system_with(etag_checksum_enabled="true")
    system.write("main/a.bin", CONTENT)
    stat = repo.sdk.objects_api.stat_object(repo.id, "main", "a.bin")
    assert system.checksum("main/a.bin") == f'etag: ""{stat.checksum}""'


def test_conditional_writes(system):
    system.write("main/a.txt", b"first")
    etag = system.status("main/a.txt").etag
    assert "AlreadyExists" in error_of(system.write, "main/a.txt", b"no", overwrite=False)
    error = error_of(system.write_on_condition, "main/a.txt", b"no", conditional_overwrite=True)
    assert "RemoteFileChangedException" in error
    system.write_on_condition("main/b.txt", b"new", conditional_overwrite=True)
    system.write_on_condition("main/a.txt", b"second", conditional_overwrite_etag=etag)
    error = error_of(
        system.write_on_condition, "main/a.txt", b"third", conditional_overwrite_etag=etag
    )
    assert "RemoteFileChangedException" in error
    assert (system.read("main/a.txt"), system.read("main/b.txt")) == (b"second", b"new")


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    "settings",
    [
        {"bucket_probe": "2"},
        {"requester_pays_enabled": "true"},
        {"encryption_algorithm": "AES256"},
        {"encryption_algorithm": "SSE-KMS", "encryption_key": "arn:aws:kms:us-east-1:1:key/one"},
        {"connection_ssl_enabled": "false"},
        {"directory_marker_retention": "delete"},
        {"change_detection_mode": "none"},
        {"list_version": "1"},
        {"multipart_uploads_enabled": "false"},
        {"multiobjectdelete_enable": "false"},
    ],
    ids=lambda settings: "=".join(next(iter(settings.items()))),
)
def test_operations_with_settings_that_change_requests(system_with, repo, settings):
    system = system_with(**settings)
    system.mkdirs("main/d")
    system.write("main/d/a.txt", b"a")
    assert system.read("main/d/a.txt") == b"a"
    assert system.rename("main/d", "main/e")
    assert [each.path for each in system.walk("main/e")] == [f"s3a://{repo.id}/main/e/a.txt"]
    assert system.delete("main/e")


def test_encryption_with_client_keys_is_refused(system_with, repo):
    system = system_with(encryption_algorithm="SSE-C", encryption_key=b64encode(bytes(32)).decode())
    assert "AWSUnsupportedFeatureException" in error_of(system.write, "main/a.txt", b"a")
    assert repo.paths() == []


@pytest.fixture
def large(system_with):
    """S3A that uploads and copies files over 5 MiB in parts."""
    size = str(5 * 1024**2)
    return system_with(
        multipart_size=size, multipart_threshold=size, fast_upload_buffer="bytebuffer"
    )


def test_large_files_are_uploaded_and_copied_in_parts(large, repo):
    content = random.Random(4).randbytes(11 * 1024**2)
    large.write("main/a.bin", content)
    assert large.status("main/a.bin").etag.endswith('-3"')
    assert large.rename("main/a.bin", "main/b.bin")
    assert large.status("main/b.bin").etag.endswith('-3"')
    assert repo.paths() == ["b.bin"]
    with large.open("main/b.bin", read_policy="random") as opened:
        for start in (0, 5 * 1024**2 - 10, 10 * 1024**2 - 10, 11 * 1024**2 - 20):
            assert opened.read_at(start, 20) == content[start : start + 20]
    assert hashlib.sha256(large.read("main/b.bin")).digest() == hashlib.sha256(content).digest()


@pytest.mark.slow  # tests/clients/s3/test_boto3_transfers.py
def test_abandoned_multipart_uploads_are_listed_and_purged(large, system_with, repo, boto):
    large.abandon("main/a.bin", bytes(6 * 1024**2))
    (upload,) = boto.list_multipart_uploads(Bucket=repo.id)["Uploads"]
    assert upload["Key"] == "main/a.bin"
    system_with(multipart_purge="true", multipart_purge_age="0")
    assert "Uploads" not in boto.list_multipart_uploads(Bucket=repo.id)
    assert repo.paths() == []


def test_settings_of_one_bucket(server, system_with, repo):
    system = system_with(
        **{"endpoint": "http://127.0.0.1:1", f"bucket.{repo.id}.endpoint": server.url}
    )
    system.write("main/a.txt", b"a")
    assert repo.get("a.txt") == b"a"


def test_invalid_writes_and_credentials_fail(spark, system, system_with, repo):
    repo.save("a.txt")
    repo.sdk.tags_api.create_tag(repo.id, TagCreation(id="v1", ref="main"))
    assert system.read("v1/a.txt") == b"content"
    for path in ("v1/b.txt", "nothing/b.txt", "main~1/b.txt"):
        error = error_of(system.write, path, b"b")
        assert "UnknownStoreException" in error or "FileNotFoundException" in error, error
    error = error_of(system_with(secret_key="wrong").read, "main/a.txt")
    assert "AccessDeniedException" in error
    with closing(HadoopFileSystem(spark, "s3a://no-such-repository")) as missing:
        assert "UnknownStoreException" in error_of(missing.list, "")
    assert repo.paths() == ["a.txt"]
