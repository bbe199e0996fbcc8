"""Odd keys through command lines: from branch to branch, out of folders and into them.

What a client cannot express stands here with the reason, and is compared exactly: a client that
learns it makes a test fail.
"""

from __future__ import annotations

import hashlib
import os
import re
import uuid

import lakefs_sdk
import pytest
from lakefs_sdk.client import LakeFSClient
from support.clients.odd_keys import (
    BRANCH,
    ODD_KEYS,
    content_of,
    dot_segments,
    empty_segments,
    file_paths,
    not_in_xml,
)

IN_XML = "xml"
"""A branch without the keys that XML 1.0 cannot hold; its name leaves room for the longest."""


@pytest.fixture(scope="module")
def odd(server):
    """A repository with all odd keys on BRANCH, and those that fit into XML on IN_XML."""
    keys = {"username": server.access_key_id, "password": server.secret_access_key}
    sdk = LakeFSClient(lakefs_sdk.Configuration(host=server.url, **keys))
    lake = Odd(sdk, f"odd-{uuid.uuid4().hex}")
    creation = lakefs_sdk.RepositoryCreation(
        name=lake.id, storage_namespace=f"{server.storage}{lake.id}"
    )
    sdk.repositories_api.create_repository(creation)
    empty = sdk.commits_api.get_commit(lake.id, BRANCH).id
    lake.put(key for key in ODD_KEYS if not not_in_xml(key))
    sdk.commits_api.commit(lake.id, BRANCH, lakefs_sdk.CommitCreation(message="In XML"))
    lake.branch(IN_XML, BRANCH)
    lake.put(key for key in ODD_KEYS if not_in_xml(key))
    lake.empty = empty
    return lake


class Odd:
    """A repository of odd keys."""

    def __init__(self, sdk, repository):
        self.sdk = sdk
        self.id = repository
        self.empty = BRANCH

    def put(self, keys):
        for key in keys:
            self.sdk.objects_api.upload_object(self.id, BRANCH, key, content=content_of(key))

    def branch(self, name, source=""):
        """Makes a branch, of the commit without objects unless it is said of which."""
        creation = lakefs_sdk.BranchCreation(name=name, source=source or self.empty)
        self.sdk.branches_api.create_branch(self.id, creation)

    def keys(self, branch):
        """Returns the keys on a branch. What is stored under each is right."""
        listed = self.sdk.objects_api.list_objects(self.id, branch, amount=1000).results
        for item in listed:
            assert item.checksum == hashlib.md5(content_of(item.path)).hexdigest(), item.path
        return {item.path for item in listed}


def folder_of(paths, folder):
    """Creates a folder of files with old modification times; `large_file` has the reason."""
    for path in paths:
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content_of(path))
        os.utime(file, (1_600_000_000, 1_600_000_000))
    return folder


def expected(paths):
    return {path: content_of(path) for path in paths}


@pytest.mark.slow
def test_aws(aws, odd, home, contents):
    odd.branch("aws1")
    aws("s3", "sync", f"s3://{odd.id}/{BRANCH}/", f"s3://{odd.id}/aws1/", "--only-show-errors")
    assert odd.keys("aws1") == set(ODD_KEYS)

    odd.branch("aws2")
    there = f"s3://{odd.id}/aws2/"
    folder = folder_of(file_paths(), home / "up")
    aws("s3", "sync", folder, there, "--only-show-errors")
    assert odd.keys("aws2") == set(file_paths())
    assert aws("s3", "sync", folder, there).out == ""
    aws("s3", "sync", there, "down", "--only-show-errors")
    assert contents(home / "down") == expected(file_paths())
    assert aws("s3", "rm", "--recursive", f"s3://{odd.id}/aws1/", "--quiet").out == ""
    assert odd.keys("aws1") == set()


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_aws_with_keys_that_no_folder_holds(aws, odd, home):
    odd.branch("aws3")
    # no argument of a program has a NUL in it
    rest = [key for key in set(ODD_KEYS).difference(file_paths()) if "\0" not in key]
    for key in rest:
        (home / "up").write_bytes(content_of(key))
        it = ("--bucket", odd.id, "--key", f"aws3/{key}")
        aws("s3api", "put-object", *it, "--body", "up")
        aws("s3api", "get-object", *it, "down")
        assert (home / "down").read_bytes() == content_of(key)
    assert odd.keys("aws3") == set(rest)


def not_for_rclone(key):
    """A key is a path of clean segments to rclone: it sends U+FF0E for the dots of `.` and `..`,
    U+2400 for NUL, and passes over empty segments, as it does over objects that end in a slash.
    """
    return empty_segments(key) or dot_segments(key) or "\0" in key


@pytest.mark.slow
def test_rclone(rclone, odd, home, contents):
    can = {key for key in ODD_KEYS if not not_for_rclone(key)}
    # left alone, rclone takes composed and decomposed letters for the same
    words = ("--no-unicode-normalization", "--quiet")
    odd.branch("rcl1")
    rclone.attempt("copy", f"lake:{odd.id}/{BRANCH}", f"lake:{odd.id}/rcl1", *words)
    assert odd.keys("rcl1") == can

    odd.branch("rcl2")
    there = f"lake:{odd.id}/rcl2"
    folder = folder_of(file_paths(), home / "up")
    rclone("sync", folder, there, *words)
    assert odd.keys("rcl2") == set(file_paths())
    rclone("check", folder, there, *words)
    rclone("sync", there, "down", *words)
    assert contents(home / "down") == expected(file_paths())


def not_for_s3cmd(key):
    """s3cmd leaves out keys of nothing but white space, those with a line feed, and stops at a
    listing with characters that XML has not: it does not ask for `encoding-type=url`.
    """
    return not key.strip() or "\n" in key or not_in_xml(key)


def renamed_by_s3cmd(path):
    """s3cmd sends `^A` for a character of control in a file's name."""
    return re.search(r"[\x00-\x1f\x7f]", path) is not None


@pytest.mark.slow
def test_s3cmd(s3cmd, odd, home, contents):
    odd.branch("s3c1")
    s3cmd.attempt("cp", "--recursive", f"s3://{odd.id}/{IN_XML}/", f"s3://{odd.id}/s3c1/")
    assert odd.keys("s3c1") == {key for key in ODD_KEYS if not not_for_s3cmd(key)}

    odd.branch("s3c2")
    there = f"s3://{odd.id}/s3c2/"
    can = [path for path in file_paths() if not (not_for_s3cmd(path) or renamed_by_s3cmd(path))]
    folder = folder_of(can, home / "up")
    s3cmd("sync", f"{folder}/", there, "--quiet")
    assert odd.keys("s3c2") == set(can)
    s3cmd("sync", there, "down/", "--quiet")
    assert contents(home / "down") == expected(can)


def not_for_duckdb(key):
    """DuckDB signs dot segments and then sends the path without them; SQL ends at NUL."""
    return dot_segments(key) or "\0" in key


@pytest.mark.slow  # tests/clients/s3/test_boto3_odd_keys.py
def test_duckdb(duck, odd):
    odd.branch("duck")
    # without this, `?` begins parameters, and `*`, `[` and the backslash are patterns
    duck.execute("SET s3_url_compatibility_mode = true")
    for key in ODD_KEYS:
        if not_for_duckdb(key):
            continue
        there, here = f"s3://{odd.id}/duck/{key}", f"s3://{odd.id}/{BRANCH}/{key}"
        quoted = there.replace("'", "''")
        duck.execute(f"COPY (SELECT ?::BLOB) TO '{quoted}' (FORMAT blob)", [content_of(key)])
        read = duck.execute("SELECT content FROM read_blob(?)", [here]).fetchall()
        assert read == [(content_of(key),)]
    assert odd.keys("duck") == {key for key in ODD_KEYS if not not_for_duckdb(key)}
