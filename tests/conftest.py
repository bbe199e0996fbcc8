"""What all tests share."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

import hypothesis
import pytest
from support.eventually import eventually
from support.services.azure_emulator import EmulatedAzure, azurite_program, running_azure
from support.services.minio import minio_program, running_minio
from support.services.postgres import Cluster, postgres_programs, running_cluster
from support.services.s3_emulator import EmulatedS3, running_s3
from support.services.s3_service import S3Service
from support.services.spark import settings_of, spark_session
from xdist.scheduler import LoadScopeScheduling

import anabranch
from anabranch.keyvalue.postgres.database import PostgresDatabase
from anabranch.testing.server import Server, running_server

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PROJECT = Path(__file__).parent.parent
SPARK = re.compile("spark|s3a")

# Tests start hundreds of servers. Each would compile every module again where the environment
# forbids to keep what was compiled.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# On a machine at work a step may take any time, which says nothing about what is tested. What CI
# says of a commit must not depend on the day; new examples are found by everybody else.
hypothesis.settings.register_profile(
    "patient",
    deadline=None,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
    derandomize=bool(os.environ.get("CI")),
)
hypothesis.settings.load_profile("patient")


@pytest.fixture(autouse=True, scope="session")
def _programs_find_the_package() -> Iterator[None]:
    """Python programs that tests start import this checkout's package, and `support`."""
    with pytest.MonkeyPatch.context() as patch:
        paths = (Path(anabranch.__file__).parent.parent, Path(__file__).parent)
        patch.setenv("PYTHONPATH", os.pathsep.join(map(str, paths)))
        yield


@pytest.fixture(scope="session", name="eventually")
def _eventually() -> Callable[..., None]:
    """Returns the function that waits until a condition holds, for at most a minute."""
    return eventually


def pytest_addoption(parser):
    choices = ("auto", "minio", "moto")
    purpose = "the S3 that tests run over: MinIO (`make minio`), moto's, or MinIO if it is built"
    parser.addoption("--s3", choices=choices, default="auto", help=purpose)
    purpose = "milliseconds by which responses to the pages of the web interface are late"
    parser.addoption("--latency", type=int, default=0, metavar="MS", help=purpose)


def pytest_ignore_collect(collection_path, config):
    """Leaves out what is about MinIO alone where tests do not run over it."""
    return True if "minio" in collection_path.name and minio(config) is None else None


def pytest_report_header(config):
    program = minio(config)
    return f"S3: {program}" if program else "S3: moto's server (`make minio` builds MinIO)"


def minio(config: pytest.Config) -> Path | None:
    """Returns the MinIO that tests run over, None for moto's S3."""
    choice = config.getoption("--s3")
    if choice == "moto":
        return None
    version = (PROJECT / "tools" / "minio-version").read_text().strip()
    program = minio_program(version, os.environ)
    if program is None and choice == "minio":
        raise pytest.UsageError("MinIO is not built: `make minio` does that")
    return program


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):  # noqa: ARG001  pytest names the arguments
    """Where CI is set, everything is installed: a test that is skipped there has failed."""
    report = yield
    if report.skipped and os.environ.get("CI") and not hasattr(report, "wasxfail"):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr
        report.outcome = "failed"
        report.longrepr = f"{item.nodeid} was skipped, which CI does not allow: {reason}"
    return report


class _ByFile(LoadScopeScheduling):
    """Gives workers whole files, and those that need Spark to one worker: its Java process takes
    half a minute to start and a gigabyte. The mark `xdist_group` would say so, but xdist 3.8 does
    not see it with pytest 9.2 (pytest-xdist issue 1386).
    """

    def _split_scope(self, nodeid):
        file = nodeid.partition("::")[0]
        return "spark" if SPARK.search(file) else file


def pytest_xdist_make_scheduler(config, log):
    return _ByFile(config, log)


def pytest_collection_modifyitems(items):
    for item in items:
        if "spark" in item.fixturenames and not SPARK.search(item.nodeid.partition("::")[0]):
            raise pytest.UsageError(f"{item.nodeid} needs Spark: name the file or folder so")


# the tests of clients that run a second time, over PostgreSQL, and a third time, over PostgreSQL
# and S3; the others do so among slow ones
TWICE = ("test_lakefs", "test_boto3.py", "test_boto3_transfers.py")
THRICE = ("test_lakefs_sdk_objects", "test_lakefs_transactions", "test_merge.py")
# these put files where a server with a folder finds them
FOLDERS = ("test_import.py", "test_imports.py")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Makes the tests of clients three: over SQLite and a folder, over PostgreSQL, and over
    PostgreSQL and S3.
    """
    path = metafunc.definition.path
    if SPARK.search(path.name):
        return  # each server would need a Java process of its own
    if "server" in metafunc.fixturenames and path.parent.name in ("clients", "cli"):
        servers = ["sqlite"]
        for name, often in (("postgres", TWICE), ("cluster", THRICE)):
            marks = () if path.name.startswith(often) else pytest.mark.slow
            servers.append(pytest.param(name, marks=marks))
        if path.name in FOLDERS:
            servers.pop()
        metafunc.parametrize("server", servers, indirect=True, scope="session")


@pytest.fixture
def postgres_database(postgres_cluster: Cluster) -> str:
    """The connection string of a new, migrated PostgreSQL database."""
    return new_database(postgres_cluster)


@pytest.fixture(scope="session")
def new_postgres_database(postgres_cluster: Cluster) -> Callable[[], str]:
    """Makes a migrated PostgreSQL database and returns its connection string."""
    return partial(new_database, postgres_cluster)


@pytest.fixture(scope="session")
def server(request: pytest.FixtureRequest) -> Server:
    """A real server, shared by all tests that ask for it: over a folder of its own, or, for tests
    that run more than once, over a database of PostgreSQL's, and over that and a bucket.
    """
    found: Server = request.getfixturevalue(f"{getattr(request, 'param', 'sqlite')}_server")
    return found


@pytest.fixture(scope="session")
def sqlite_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server over a folder."""
    with running_server(tmp_path_factory.mktemp("lake")) as running:
        yield running


@pytest.fixture(scope="session")
def presigning_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server over a folder that gives presigned URLs."""
    env = {"ANABRANCH_BLOCKSTORE_LOCAL_PRE_SIGNED": "true"}
    with running_server(tmp_path_factory.mktemp("lake"), env=env) as running:
        yield running


@pytest.fixture(scope="session")
def postgres_server(
    postgres_cluster: Cluster, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Server]:
    """A server over a database."""
    database = new_database(postgres_cluster)
    with running_server(tmp_path_factory.mktemp("lake"), database=database) as running:
        yield running


@pytest.fixture(scope="session")
def cluster_server(
    postgres_cluster: Cluster, s3_service: S3Service, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Server]:
    """A server over a database and a bucket."""
    s3_service.make_bucket("clients")
    database, folder = new_database(postgres_cluster), tmp_path_factory.mktemp("lake")
    env = {**s3_service.settings, "ANABRANCH_IMAGES_STORAGE_NAMESPACE": "s3://clients/image"}
    with running_server(folder, database=database, env=env) as running:
        yield running._replace(storage="s3://clients/")


def new_database(cluster: Cluster) -> str:
    """Makes a database with all tables and returns its connection string."""
    url = cluster.url(cluster.make_database())
    PostgresDatabase(url).migrate()
    return url


@pytest.fixture(scope="session")
def postgres_cluster() -> Iterator[Cluster]:
    """A real PostgreSQL server, shared by all tests that ask for it; each makes a database."""
    if postgres_programs() is None:
        pytest.skip("PostgreSQL is not installed: `make components` does that")
    with running_cluster() as cluster:
        yield cluster


@pytest.fixture(scope="session")
def spark(server: Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """A Spark that has the shared server's repositories, as `docs/spark-s3a.md` sets it up. Files
    of tests that ask for it have `spark` or `s3a` in their path.
    """
    jars = PROJECT / ".components" / "jars"
    if not (jars.is_dir() and shutil.which("java")):
        pytest.skip("Spark needs Java, and the jars that `make components` fetches")
    settings = settings_of(PROJECT / "docs" / "spark-s3a.md", server)
    folder = tmp_path_factory.mktemp("spark")
    if version("pyspark").startswith("3."):
        jars, settings = folder / "none", {}  # these jars are for Spark 4
    with spark_session(settings, jars=jars, folder=folder) as session:
        yield session


@pytest.fixture(scope="session")
def s3(s3_service: S3Service) -> S3Service:
    """A service of S3's kind, by the name that tests of clients have for another."""
    return s3_service


@pytest.fixture(scope="session")
def s3_service(request: pytest.FixtureRequest) -> Iterator[S3Service]:
    """A service of S3's kind: MinIO where it is built, else moto's."""
    program = minio(request.config)
    if program is None:
        yield request.getfixturevalue("emulated_s3")
    else:
        with running_minio(program) as server:
            yield server


@pytest.fixture(scope="session")
def emulated_s3() -> Iterator[EmulatedS3]:
    """moto's S3, which keeps everything in memory, may be made to answer anything, and stands for
    Google's storage, too.
    """
    with running_s3() as server:
        yield server


@pytest.fixture(scope="session")
def azure() -> Iterator[EmulatedAzure]:
    """Azure's blob storage."""
    if azurite_program() is None:
        pytest.skip("Azurite is not installed")
    with running_azure() as server:
        yield server


@pytest.fixture(scope="session")
def build_go(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Path, str], Path]:
    """Builds the Go program in a folder, for a comparison with something; Go's cache is its own,
    outside of the checkout.
    """

    def build(source: Path, compared: str) -> Path:
        go = shutil.which("go")
        if go is None:
            pytest.skip(f"Go is missing: no comparison with {compared}")
        program = tmp_path_factory.mktemp(source.name) / source.name
        environment = {**os.environ, "CGO_ENABLED": "0", "GOTOOLCHAIN": "local", "GOFLAGS": ""}

        def call(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
            return subprocess.run(
                [go, *arguments],
                cwd=source,
                env=environment,
                capture_output=True,
                check=False,
                text=True,
            )

        if (fetched := call("list", "-deps", ".")).returncode:
            pytest.skip(f"{compared} cannot be fetched: {fetched.stderr.strip()[-300:]}")
        built = call("build", "-buildvcs=false", "-mod=readonly", "-o", program, ".")
        assert built.returncode == 0, built.stderr
        return program

    return build


@pytest.fixture(scope="module")
def outside(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that the server `importing` may import from."""
    return tmp_path_factory.mktemp("outside")


@pytest.fixture(scope="module")
def importing(outside: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server that may import."""
    settings = {
        "ANABRANCH_BLOCKSTORE_LOCAL_IMPORT_ENABLED": "true",
        "ANABRANCH_BLOCKSTORE_LOCAL_ALLOWED_EXTERNAL_PREFIXES": str(outside),
    }
    with running_server(tmp_path_factory.mktemp("lake"), env=settings) as server:
        yield server
