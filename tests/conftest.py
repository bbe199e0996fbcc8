"""What all tests share. What a service needs is imported by its fixture: a run of one file begins
within a second.
"""

from __future__ import annotations

import gc
import inspect
import os
import random
import sys
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from support.eventually import TIMEOUT_SECONDS, eventually
from support.session.chosen_s3 import minio
from support.session.hypothesis_profiles import load_profile
from support.session.scheduling import ByFile, sort_for_workers
from support.session.shares import give_share, is_of_another_worker
from support.session.tiers import (
    holds_no_test,
    mark_tiers,
    parametrize_servers,
    refuse_hidden_spark,
)

import anabranch

pytest_plugins = [
    "support.session.service_fixtures",
    "support.session.server_fixtures",
    "support.session.crashes",
]

# Tests start hundreds of servers. Each would compile every module again where the environment
# forbids to keep what was compiled.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# most servers of tests are forked by one that has imported the modules: coverage.py cannot follow
os.environ.setdefault("FORKED_TEST_SERVERS", "1")

# of Spark's processes: the second JIT compiler does not pay off in short tests
os.environ.setdefault("SPARK_SUBMIT_OPTS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")

# Loading the certificates of all authorities takes each HTTP client 30 ms, and no test connects to
# a public site. This file has one authority, whose private key was not kept.
os.environ.pop("SSL_CERT_DIR", None)
os.environ["SSL_CERT_FILE"] = str(Path(__file__).parent / "support/session/unused_authority.pem")

# The garbage collector would visit the hundred thousands of objects that the tests themselves are
# again and again, in each worker: it begins when they are collected, and leaves these out.
gc.disable()

load_profile()


@pytest.fixture(autouse=True, scope="session")
def _programs_find_the_package() -> Iterator[None]:
    """Python programs that tests start import this checkout's package, and `support`."""
    with pytest.MonkeyPatch.context() as patch:
        paths = (Path(anabranch.__file__).parent.parent, Path(__file__).parent)
        patch.setenv("PYTHONPATH", os.pathsep.join(map(str, paths)))
        yield


@pytest.fixture(autouse=True, scope="session")
def _requests_have_patience() -> None:
    """Requests wait for a busy machine as long as all else does: by default httpx waits 5 s."""
    if "httpx2" in sys.modules:
        default = inspect.signature(sys.modules["httpx2"].Client).parameters["timeout"].default
        default.connect = default.read = default.write = default.pool = TIMEOUT_SECONDS


@pytest.fixture(scope="session", name="eventually")
def _eventually() -> Callable[..., None]:
    """Returns the function that waits until a condition holds, for at most a minute."""
    return eventually


@pytest.fixture
def seed(request, record_testsuite_property) -> int:
    """The seed of a random sweep, which the report has: in CI always the same for a test, because
    what CI reports of a commit must not depend on the day; elsewhere a new one each time.
    """
    name = request.node.nodeid.encode()
    chosen = zlib.crc32(name) if os.environ.get("CI") else random.randrange(1 << 32)
    record_testsuite_property("seed", chosen)
    print("seed", chosen)
    return chosen


def pytest_addoption(parser):
    choices = ("auto", "minio", "moto")
    purpose = "the S3 that tests run over: MinIO (`make minio`), moto's, or MinIO if it is built"
    parser.addoption("--s3", choices=choices, default="auto", help=purpose)
    purpose = "milliseconds by which responses to the pages of the web interface are late"
    parser.addoption("--latency", type=int, default=0, metavar="MS", help=purpose)
    purpose = "milliseconds between what tests do with these pages"
    parser.addoption("--pause", type=int, default=0, metavar="MS", help=purpose)
    purpose = "how many times slower than the processor the scripts of these pages run"
    parser.addoption("--throttle", type=float, default=1, metavar="RATE", help=purpose)


def pytest_ignore_collect(collection_path, config):
    """Leaves out what is about MinIO alone where tests do not run over it, and files that have
    no test of this tier, or which are another worker's.
    """
    without_minio = "minio" in collection_path.name and minio(config) is None
    return (
        without_minio
        or is_of_another_worker(collection_path, config)
        or holds_no_test(collection_path, config.option.markexpr)
        or None
    )


def pytest_report_header(config):
    program = minio(config)
    return f"S3: {program}" if program else "S3: moto's server (`make minio` builds MinIO)"


def pytest_collection_finish():
    gc.freeze()
    gc.enable()


def pytest_sessionfinish():
    """Saves what `make coverage` has measured: a worker that takes long to end is killed."""
    gc.freeze()  # pytest collects garbage five times before it ends
    measured = sys.modules["coverage"].Coverage.current() if "coverage" in sys.modules else None
    if measured is not None:
        measured.save()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):  # noqa: ARG001  pytest names the arguments
    """Where CI is set, everything is installed: a test that is skipped there has failed."""
    report = yield
    if report.skipped and os.environ.get("CI") and not hasattr(report, "wasxfail"):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr
        report.outcome = "failed"
        report.longrepr = f"{item.nodeid} was skipped, which CI does not allow: {reason}"
    return report


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    parametrize_servers(metafunc)


@pytest.hookimpl(tryfirst=True)  # before `-m` selects by the marks that this adds
def pytest_collection_modifyitems(config, items):
    refuse_hidden_spark(items)
    mark_tiers(items)
    sort_for_workers(items, config)


@pytest.hookimpl(optionalhook=True)  # these two are xdist's
def pytest_configure_node(node):
    give_share(node)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    return ByFile(config, log)
