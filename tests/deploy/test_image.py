"""The container image without Docker: the steps of its last stage over files of Debian with the
same Python (`make deploy-tools`), then a container of what they make, confined as those are.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from support.checkout import ROOT
from support.containers.container import may_confine, running_container
from support.containers.dockerfile import build_last_stage
from support.eventually import eventually
from support.services.installed_wheel import write_wheel
from support.session.environments import cache_folder

BASE = cache_folder("deploy-tools") / "python-3.11-bookworm"
KEYS = {"ACCESS_KEY_ID": "AKIAIOSFODNN7EXAMPLE", "SECRET_ACCESS_KEY": "a-secret-of-the-test"}
SETTINGS = {f"ANABRANCH_INSTALLATION_{name}": value for name, value in KEYS.items()}
SETTINGS["ANABRANCH_INSTALLATION_USER_NAME"] = "admin"
CLIENT = {f"ANABRANCH_{name}": value for name, value in KEYS.items()}
CLIENT["ANABRANCH_SERVER"] = "http://127.0.0.1:8000"
PAGE = "import urllib.request; print(urllib.request.urlopen('http://127.0.0.1:8000/').read())"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(1800),
    pytest.mark.skipif(
        not BASE.exists(), reason="no files of Debian: `make deploy-tools`, as root"
    ),
    pytest.mark.skipif(not may_confine(), reason="no root, or a kernel that permits no namespaces"),
]


@pytest.fixture(scope="module")
def image(tmp_path_factory):
    folder = tmp_path_factory.mktemp("image")
    built = folder / "build"
    (built / "wheels").mkdir(parents=True)
    write_wheel(built / "wheels")
    root = folder / "root"
    subprocess.run(["cp", "--archive", "--reflink=auto", BASE, root], check=True)
    yield build_last_stage(ROOT / "deploy/Dockerfile", ROOT, {"build": built}, root)
    shutil.rmtree(folder)  # 800 MB


def as_client(command):
    return ["env", *(f"{name}={value}" for name, value in CLIENT.items()), "anabranch", *command]


def test_the_base_is_what_the_stage_begins_from(image):
    (version, release) = re.fullmatch(r"python:([\d.]+)-slim-(\w+)", image.base).groups()
    assert BASE.name == f"python-{version}-{release}"
    assert release in (BASE / "etc/os-release").read_text()
    assert (BASE / f"usr/bin/python{version}").exists()


def test_the_image_has_no_compiler_nor_what_it_was_made_from(image):
    found = {path.name for path in image.root.glob("usr/**/bin/*")}
    assert {"anabranch", "python3.11"} <= found
    assert found & {"cc", "gcc", "cargo", "node", "npm", "java"} == set()
    assert not (image.root / "wheels").exists()
    packages = image.root / "usr/local/lib/python3.11/site-packages"
    for package in ("uvloop", "duckdb", "psycopg", "botocore", "mcp"):
        assert list(packages.glob(f"{package}*")), package


def test_a_container_serves_without_privileges_over_files_that_it_cannot_change(image, tmp_path):
    volumes, log = tmp_path / "volumes", tmp_path / "log"
    with running_container(image, volumes, SETTINGS, log) as container:
        status = Path(f"/proc/{container.process_id}/status").read_text()
        assert re.search(r"^Uid:(\t1000){4}$", status, re.MULTILINE)
        assert re.search(r"^NoNewPrivs:\t1$", status, re.MULTILINE)
        assert set(re.findall(r"^Cap\w+:\t(\w+)$", status, re.MULTILINE)) == {"0" * 16}
        for place in ("/", "/home/anabranch", "/usr/local"):
            refused = container.execute("touch", f"{place}/file")
            assert "Read-only file system" in refused.stderr + refused.stdout
        assert "<title>Anabranch</title>" in container.execute("python", "-c", PAGE).stdout
        made = container.execute(
            *as_client(["repo", "create", "lakefs://rivers", "local://rivers", "--sample-data"])
        )
        assert made.returncode == 0, made.stderr + log.read_text()
        assert container.stop() == 0, log.read_text()
    # the next one has the volume, and so what the first was given
    with running_container(image, volumes, {}, log) as container:
        listed = container.execute(*as_client(["fs", "ls", "lakefs://rivers/main/data/"]))
        assert "rivers.csv" in listed.stdout, listed.stderr


def test_a_container_that_does_not_answer_is_not_healthy(image, tmp_path):
    with running_container(image, tmp_path / "volumes", SETTINGS, tmp_path / "log") as container:
        number = container.process_id
        subprocess.run(["kill", "-STOP", str(number)], check=True)
        try:
            eventually(lambda: not container.is_healthy())
        finally:
            subprocess.run(["kill", "-CONT", str(number)], check=True)
        eventually(container.is_healthy)
