"""The example of docs/lakefile.md, built and read back object by object by clients as they are
published, which know nothing of images.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import boto3
import lakefs
from lakefs_spec import LakeFSFileSystem

PAGE = Path(__file__).parents[3] / "docs" / "lakefile.md"


def test_it_is_the_page_s(built):
    example = re.search(r"```dockerfile\n(.*?)```", PAGE.read_text(), re.DOTALL)[1]
    for image in built:
        lines = re.sub(r"repo2/[0-9a-f]{64}", "repo2/commit", image.lakefile).splitlines()
        asked = re.sub(r"repo2/commit[0-9]+", "repo2/commit", example).splitlines()
        assert [line for line in asked if line.startswith("ADD")] == [
            line for line in lines if line.startswith("ADD")
        ]


def test_the_generated_client(sdk, built):
    for image in built:
        listed = sdk.objects_api.list_objects("image", image.tag, amount=1000)
        assert not listed.pagination.has_more
        sizes = {path: len(content) for path, content in image.contents.items()}
        assert {item.path: item.size_bytes for item in listed.results} == sizes
        read = {path: bytes(sdk.objects_api.get_object("image", image.tag, path)) for path in sizes}
        assert read == image.contents
        stat = sdk.objects_api.stat_object("image", image.tag, "external/some-path/one.json")
        assert stat.physical_address == "s3://my-bucket/some-path/one.json"
        assert stat.checksum.strip('"') == "99914b932bd37a50b983c5e7c90ae93b"
    commit = sdk.commits_api.get_commit("image", "v125")
    assert commit.metadata["author"] == "oz.katz"
    assert commit.metadata["notebook_url"].endswith("?o=12345#notebook/45678")
    log = sdk.refs_api.log_commits("image", "v125").results
    assert [entry.message for entry in log[:2]] == ["Image v125", "Image v122"]


def test_the_wrapper(client, built):
    for image in built:
        tag = lakefs.Repository("image", client=client).tag(image.tag)
        read = {each.path: tag.object(each.path).reader("rb").read() for each in tag.objects()}
        assert read == image.contents


def test_the_file_system_of_fsspec(credentials, built):
    fs = LakeFSFileSystem(**credentials, skip_instance_cache=True, use_listings_cache=False)
    for image in built:
        root = f"lakefs://image/{image.tag}/"
        found = fs.find(root)
        assert {path.removeprefix(f"image/{image.tag}/") for path in found} == set(image.contents)
        read = {path: fs.cat_file(f"{root}{path}") for path in image.contents}
        assert read == image.contents


def test_boto3(server, s3, built):
    for image in built:
        pages = s3.get_paginator("list_objects_v2").paginate(Bucket="image", Prefix=f"{image.tag}/")
        keys = [item["Key"] for page in pages for item in page["Contents"]]
        read = {
            key.removeprefix(f"{image.tag}/"): s3.get_object(Bucket="image", Key=key)["Body"].read()
            for key in keys
        }
        assert read == image.contents
    resource = boto3.resource(
        "s3",
        endpoint_url=server.url,
        aws_access_key_id=server.access_key_id,
        aws_secret_access_key=server.secret_access_key,
        region_name="us-east-1",
    )
    assert {bucket.name for bucket in resource.buckets.all()} >= {"image", "repo1"}


def test_the_command_line(server, built, tmp_path):
    def run(*words):
        keys = {
            "ANABRANCH_SERVER": server.url,
            "ANABRANCH_ACCESS_KEY_ID": server.access_key_id,
            "ANABRANCH_SECRET_ACCESS_KEY": server.secret_access_key,
            "PYTHONPATH": ":".join(sys.path),
            "HOME": str(tmp_path),
        }
        command = [sys.executable, "-m", "anabranch", *words]
        return subprocess.run(command, env=keys, check=True, capture_output=True).stdout

    image = built[0]
    listed = run("fs", "ls", "-r", f"lakefs://image:{image.tag}").decode().splitlines()
    assert {line.rsplit("\t")[-1] for line in listed} == set(image.contents)
    path = "pictures/animals/cats/Größe von %20 Ä+b.jpg"
    assert run("fs", "cat", f"lakefs://image:{image.tag}/{path}") == image.contents[path]
    for number, words in enumerate(
        (
            ["fs", "download", "-r", f"lakefs://image:{image.tag}/"],
            ["image", "pull", image.tag],
        )
    ):
        folder = tmp_path / str(number)
        run(*words, str(folder))
        files = [path for path in folder.rglob("*") if path.is_file()]
        read = {str(path.relative_to(folder)): path.read_bytes() for path in files}
        assert read == image.contents
