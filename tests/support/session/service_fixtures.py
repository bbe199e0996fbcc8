"""Fixtures of the services that tests use beside a server: PostgreSQL, S3, Azure, Spark, Go.

What a fixture needs is imported by the fixture: most runs need none of it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import pytest

from support.session.chosen_s3 import minio

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from anabranch.testing.server import Server
    from support.services.azure_emulator import EmulatedAzure
    from support.services.postgres import Cluster
    from support.services.s3_emulator import EmulatedS3
    from support.services.s3_service import S3Service

PROJECT = Path(__file__).parents[3]


_templates: WeakKeyDictionary[Cluster, str] = WeakKeyDictionary()
"""The database of each cluster that others are copied from."""


def new_database(cluster: Cluster) -> str:
    """Makes a database with all tables and returns its connection string. To copy one takes less
    than half of what it takes to make the tables.
    """
    from anabranch.keyvalue.postgres.database import PostgresDatabase

    template = _templates.get(cluster)
    if template is None:
        template = cluster.make_database()
        PostgresDatabase(cluster.url(template)).migrate()
        _templates[cluster] = template
    return cluster.url(cluster.make_database(template))


@pytest.fixture(scope="session")
def postgres_cluster() -> Iterator[Cluster]:
    """A real PostgreSQL server, shared by all tests that ask for it; each makes a database."""
    from support.services.postgres import postgres_programs, running_cluster

    if postgres_programs() is None:
        pytest.skip("PostgreSQL is not installed: `make components` does that")
    with running_cluster() as cluster:
        yield cluster


@pytest.fixture
def postgres_database(postgres_cluster: Cluster) -> str:
    """The connection string of a new, migrated PostgreSQL database."""
    return new_database(postgres_cluster)


@pytest.fixture(scope="session")
def new_postgres_database(postgres_cluster: Cluster) -> Callable[[], str]:
    """Makes a migrated PostgreSQL database and returns its connection string."""
    return partial(new_database, postgres_cluster)


@pytest.fixture(scope="session")
def s3(s3_service: S3Service) -> S3Service:
    """A service of S3's kind, by the name that tests of clients have for another."""
    return s3_service


@pytest.fixture(scope="session")
def s3_service(request: pytest.FixtureRequest) -> Iterator[S3Service]:
    """A service of S3's kind: MinIO where it is built, else moto's."""
    from support.services.minio import running_minio

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
    from support.services.s3_emulator import running_s3

    with running_s3() as server:
        yield server


@pytest.fixture(scope="session")
def azure() -> Iterator[EmulatedAzure]:
    """Azure's blob storage."""
    from support.services.azure_emulator import azurite_program, running_azure

    if azurite_program() is None:
        pytest.skip("Azurite is not installed")
    with running_azure() as server:
        yield server


@pytest.fixture(scope="session")
def spark(
    sqlite_server: Server, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[SparkSession]:
    """A Spark that has the shared server's repositories, as `docs/spark-s3a.md` sets it up, and
    Iceberg's words. Files of tests that ask for it have `spark` or `s3a` in their path.
    """
    from support.services.spark import iceberg_settings, settings_of, spark_session

    jars = PROJECT / ".components" / "jars"
    if not (jars.is_dir() and shutil.which("java")):
        pytest.skip("Spark needs Java, and the jars that `make components` fetches")
    settings = settings_of(PROJECT / "docs" / "spark-s3a.md", sqlite_server)
    folder = tmp_path_factory.mktemp("spark")
    if version("pyspark").startswith("3."):
        jars, settings = folder / "none", {}  # these jars are for Spark 4
    settings |= iceberg_settings(jars)
    with spark_session(settings, jars=jars, folder=folder) as session:
        yield session


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
