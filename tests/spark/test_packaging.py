"""docs/spark-clusters.md: its recipes run on a standalone cluster, whose workers have no Anabranch
but the packed one.

The blocks of the page are run by a shell, with the addresses and paths of the test in them.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import textwrap
import time
import uuid
from pathlib import Path

import lakefs
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from lakefs.client import Client
from support.services.installed_wheel import write_wheel
from support.services.s3_service import CREDENTIALS
from support.services.spark_cluster import spark_cluster

from anabranch.testing.server import running_server

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]

PROJECT = Path(__file__).parents[2]
PAGE = (PROJECT / "docs" / "spark-clusters.md").read_text(encoding="utf-8")
OBJECTS = 60
REPLACED = 12
NOW = ("--grace", "0", "--window", "0")


def block(text):
    """Returns the shell or Python block of the page that has a text."""
    blocks = re.findall(r"```\w+\n(.*?)```", PAGE, re.DOTALL)
    found = [each for each in blocks if text in each]
    assert len(found) == 1, f"{text}: {len(found)} blocks"
    return textwrap.dedent(found[0])


def filled(text, replacements):
    """Returns a text with replacements, each of which must occur."""
    for old, new in replacements.items():
        assert old in text, old
        text = text.replace(old, new)
    return text


def run_block(text, folder, environment):
    """Runs a block in a folder, as a user would, and returns its output."""
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", text],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    with spark_cluster(tmp_path_factory.mktemp("cluster")) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def packed(tmp_path_factory, cluster):
    """The folder with `environment.tar.gz`, as the page packs it."""
    folder = tmp_path_factory.mktemp("packed")
    wheel = write_wheel(folder)
    recipe = filled(
        block("venv-pack -q -p environment"),
        {
            "python3.11 -m venv": f"{sys.executable} -m venv",
            "'anabranch[gc,s3]'": f"-c {PROJECT}/constraints.txt '{wheel}[gc,s3]'",
        },
    )
    run_block(recipe, folder, dict(cluster.environment))
    assert (folder / "environment.tar.gz").is_file()
    return folder


@pytest.fixture
def bucket_repository(s3_service, tmp_path):
    """A server over a bucket, with the repository `sea`: 60 objects on main, 12 of which replaced
    others, and a listing of 60 objects in the bucket.
    """
    bucket = f"packaging-{uuid.uuid4().hex[:12]}"
    s3_service.make_bucket(bucket)
    blocks = s3_service.blocks()
    rows = []
    for number in range(OBJECTS):
        address = f"s3://{bucket}/raw/{number}"
        blocks.put(address, [b"r" * number])
        rows.append({"path": f"{number:02}", "physical_address": address, "size": number})
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "listing.parquet")
    with running_server(tmp_path / "lake", env=s3_service.settings) as running:
        user, secret = running.auth
        client = Client(host=running.url, username=user, password=secret)
        repository = lakefs.Repository("sea", client=client).create(f"s3://{bucket}/sea")
        branch = repository.branch("main")
        for version, numbers in enumerate((range(REPLACED), range(OBJECTS))):
            for number in numbers:
                branch.object(f"d/{number:02}").upload(b"%d of %d" % (number, version))
        branch.commit("Objects")
        yield repository, blocks, bucket


def submitted(cluster, replacements):
    """Returns the block of the page that submits jobs, as a function of the job's arguments."""
    text = block("gc lakefs://sea --sweep --yes -c")
    head, command, job = text.partition('/__main__.py" \\\n')
    assert job
    return filled(head, {"spark://HOST:7077": cluster.master, **replacements}) + command


def test_packed_environment_runs_an_import_an_export_and_a_collection(
    cluster, packed, bucket_repository, s3_service, tmp_path
):
    repository, blocks, bucket = bucket_repository
    submit = submitted(cluster, {})
    environment = {**cluster.environment, **s3_service.settings}

    def run(job, *arguments):
        """Runs a job on the cluster, and returns its result."""
        words = (job, *arguments, "--data", str(tmp_path / "lake"), "--summary", "-")
        output = run_block(f"{submit}{' '.join(words)}\n", packed, environment)
        summary = json.loads(output[output.index("{") :])
        assert (summary["engine"], summary["state"]) == ("spark", "done")
        tasks = summary["result"]["tasks"].values()
        assert sum(phase["completed"] for phase in tasks) > 0
        assert sum(phase["failed"] for phase in tasks) == 0
        return summary["result"]

    listing = ("--listing", str(tmp_path / "listing.parquet"), "--no-progress")
    imported = run("import", *listing, "--to", "lakefs://sea/main/raw/", "--verify", "all")
    assert imported["objects"] == OBJECTS
    contents = {f"raw/{number:02}": b"r" * number for number in range(OBJECTS)}
    contents |= {f"d/{number:02}": b"%d of 1" % number for number in range(OBJECTS)}
    main = repository.branch("main")
    assert {item.path for item in main.objects()} == contents.keys()
    assert main.get_commit().meta_range_id == imported["metarange_id"]

    exported = run("export", "lakefs://sea/main", f"s3://{bucket}/out/")
    assert exported["stored"] == len(contents)
    for path, content in contents.items():
        assert blocks.read(f"s3://{bucket}/out/{path}") == content

    data = {block.address for block in blocks.list(f"s3://{bucket}/sea/data/")}
    time.sleep(1.1)  # times of the store have whole seconds
    collected = run("gc", "lakefs://sea", "--sweep", "--yes", *NOW)
    assert collected["swept"]["objects"] == REPLACED
    left = {block.address for block in blocks.list(f"s3://{bucket}/sea/data/")}
    assert left < data
    assert len(data - left) == REPLACED
    for path, content in contents.items():
        assert main.object(path).reader(mode="rb").read() == content
    # each executor has unpacked the environment
    unpacked = list(cluster.work.glob("app-*/*/environment/bin/python"))
    assert len(unpacked) >= 3


def test_nightly_collection_runs_through_a_server(
    cluster, packed, bucket_repository, s3_service, tmp_path
):
    """The driver has only a file with the store's settings, the archive, and two key pairs."""
    repository, blocks, bucket = bucket_repository
    client = repository._client.config
    night = tmp_path / "night"
    night.mkdir()
    settings = block('region = "eu-west-1"').replace("eu-west-1", s3_service.region)
    (tmp_path / "store.toml").write_text(
        f'{settings}endpoint = "{s3_service.endpoint}"\nforce_path_style = true\n'
        "[blockstore.s3.credentials]\n"
        f'access_key_id = "{CREDENTIALS.access_key_id}"\n'
        f'secret_access_key = "{CREDENTIALS.secret.reveal()}"\n'
    )
    script = filled(
        block("aws s3 cp s3://jobs"),
        {
            "aws s3 cp s3://jobs/environment.tar.gz": f"cp {packed}/environment.tar.gz",
            "aws s3 cp s3://jobs/store.toml": f"cp {tmp_path}/store.toml",
            "ANABRANCH_ACCESS_KEY_ID=…": f"ANABRANCH_ACCESS_KEY_ID={client.username}",
            "ANABRANCH_SECRET_ACCESS_KEY=…": f"ANABRANCH_SECRET_ACCESS_KEY={client.password}",
            "--master yarn": f"--master {cluster.master}",
            "https://lake.example.com": client.host.removesuffix("/api/v1"),
            "--window 23": " ".join(NOW),
        },
    )
    data = {block.address for block in blocks.list(f"s3://{bucket}/sea/data/")}
    time.sleep(1.1)  # times of the store have whole seconds
    run_block(script, night, dict(cluster.environment))
    summary = json.loads((night / "summary.json").read_text())
    assert (summary["engine"], summary["state"]) == ("spark", "done")
    assert summary["result"]["swept"]["objects"] == REPLACED
    assert summary["result"]["tasks"]["removing"]["completed"] > 0
    left = {block.address for block in blocks.list(f"s3://{bucket}/sea/data/")}
    assert len(data - left) == REPLACED
    for number in range(OBJECTS):
        content = repository.branch("main").object(f"d/{number:02}").reader(mode="rb").read()
        assert content == b"%d of 1" % number


def test_modules_of_a_program_reach_the_workers(cluster, packed, bucket_repository):
    """By --py-files, while the workers import Anabranch from the packed environment."""
    repository, _, _ = bucket_repository
    program, module = block("import labels"), block("def label")
    client = repository._client.config
    server = {
        "http://HOST:8000": client.host.removesuffix("/api/v1"),
        '"ACCESS_KEY_ID"': repr(client.username),
        '"SECRET_ACCESS_KEY"': repr(client.password),
    }
    (packed / "program.py").write_text(filled(program, server))
    (packed / "labels.py").write_text(module)
    submit = filled(block("--py-files labels.py"), {"spark://HOST:7077": cluster.master})
    output = run_block(submit, packed, dict(cluster.environment))
    assert re.search(r"\|\s*d\|\s*60\|", output), output


def test_kernel_is_not_imported_from_an_archive_of_modules(packed):
    """So a wheel in --py-files does not suffice, as the page says."""
    (wheel,) = packed.glob("*.whl")
    program = f"import sys; sys.path.insert(0, {str(wheel)!r}); import anabranch._kernel"
    done = subprocess.run(
        [packed / "environment" / "bin" / "python", "-Ic", program],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "_kernel" in done.stderr
