"""The tier of a test: `make test`, `make test-systems` or `make test-all`.

What a test uses decides. It is marked `systems` if one of its fixtures, or what its file imports,
starts a service (PostgreSQL, S3, Azure, nginx, an identity provider, a browser, Spark), or if its
folder is about published clients. The mark `wiring` keeps a test in `make test`: the one test of a
client or a store that shows that it is connected to the rest. Tests marked `slow` run in
`make test-all` alone, once a week. Of a test marked `sample(n)`, n of its cases in each tier run
each time, spread over all of them, and the others once a week.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

import pytest

SPARK = re.compile("spark|s3a")

_FOLDERS = ("tests/clients/", "tests/spark/", "tests/web/")
_FIXTURES = {
    "azure",
    "build_go",
    "clients_bin",
    "driver",
    "emulated_s3",
    "postgres_cluster",
    "s3_service",
    "spark",
}
_SERVICES = {
    f"support.services.{name}"
    for name in (
        "azure_emulator",
        "chromium",
        "minio",
        "nginx",
        "oidc_provider",
        "postgres",
        "s3_emulator",
        "spark",
        "spark_cluster",
    )
}
_SERVICE_WORDS = re.compile(
    r"\b(s3|support\.services|mark\.systems)\b|"
    + "|".join({*_FIXTURES, "postgres", "spark", "cluster", "minio"})
)
_STARTS = re.compile(r"(running|spark)_\w+")

_SEVERAL_SERVERS = re.compile(r"tests/(cli|clients(?!/(images|programs)))/")
# the tests of clients that run a second time, over PostgreSQL and S3; the others do so among slow
# ones, as all do over PostgreSQL and a folder
_CLUSTER = ("test_lakefs_sdk_objects", "test_lakefs_transactions")
# these put files where a server with a folder finds them
_NEEDS_FOLDER = ("test_import.py", "test_imports.py")


def parametrize_servers(metafunc: pytest.Metafunc) -> None:
    """Makes the tests of clients three: over SQLite and a folder, over PostgreSQL, and over
    PostgreSQL and S3.
    """
    path = metafunc.definition.path
    if SPARK.search(path.name):
        return  # each server would need a Java process of its own
    several = _SEVERAL_SERVERS.match(metafunc.definition.nodeid)
    if "server" not in metafunc.fixturenames or not several:
        return
    marks = () if path.name.startswith(_CLUSTER) else pytest.mark.slow
    servers = ["sqlite", pytest.param("postgres", marks=pytest.mark.slow)]
    if path.name not in _NEEDS_FOLDER:
        servers.append(pytest.param("cluster", marks=marks))
    metafunc.parametrize("server", servers, indirect=True, scope="session")


def mark_tiers(items: Iterable[pytest.Item]) -> None:
    """Marks the tests that belong to `make test-systems`, and as slow what is in no sample."""
    items = list(items)
    services_of_modules: dict[object, bool] = {}
    for item in items:
        module = getattr(item, "module", None)
        if module not in services_of_modules:
            services_of_modules[module] = _starts_service(module)
        if item.get_closest_marker("wiring"):
            continue
        if (
            item.nodeid.startswith(_FOLDERS)
            or services_of_modules[module]
            or not _FIXTURES.isdisjoint(_fixtures(item))
        ):
            item.add_marker("systems")
    _mark_samples(items)


def holds_no_test(path: Path, expression: str) -> bool:
    """Returns whether a file of tests need not be read, because it has none of the tier that
    `expression` names, which is what `-m` says: to import all files takes each worker seconds.

    For `not systems` that is a file in a folder of services without a test of wiring. For `systems`
    it is a file outside of those folders where neither it nor a `conftest.py` above it has a word
    of a service or the mark `systems`: that more files have one does not matter.
    """
    if not path.match("test_*.py"):
        return False
    in_folder = any(f"/{folder}" in path.as_posix() for folder in _FOLDERS)
    if "not systems" in expression:
        return in_folder and "mark.wiring" not in path.read_text()
    if "systems" in expression and not in_folder and not _SEVERAL_SERVERS.search(path.as_posix()):
        return not (_names_service(path) or any(map(_names_service, _conftests(path.parent))))
    return False


@cache
def _names_service(path: Path) -> bool:
    return bool(_SERVICE_WORDS.search(path.read_text()))


@cache
def _conftests(folder: Path) -> list[Path]:
    """Returns the files `conftest.py` of a folder and those above it, without the outermost."""
    if folder.name == "tests":
        return []
    own = folder / "conftest.py"
    return [*([own] if own.exists() else []), *_conftests(folder.parent)]


def _mark_samples(items: Iterable[pytest.Item]) -> None:
    cases: dict[tuple[str, bool], list[pytest.Item]] = defaultdict(list)
    for item in items:
        if item.get_closest_marker("sample") and not item.get_closest_marker("slow"):
            is_of_systems = item.get_closest_marker("systems") is not None
            cases[item.nodeid.partition("[")[0], is_of_systems].append(item)
    for of_one_test in cases.values():
        mark = of_one_test[0].get_closest_marker("sample")
        (wanted,) = mark.args if mark else (0,)
        kept = {number * len(of_one_test) // wanted for number in range(wanted)}
        for number, item in enumerate(of_one_test):
            if number not in kept:
                item.add_marker("slow")


def refuse_hidden_spark(items: Iterable[pytest.Item]) -> None:
    """Raises an error for a test that needs Spark and is not in a file whose name says so."""
    for item in items:
        names = getattr(item, "fixturenames", ())
        if "spark" in names and not SPARK.search(item.nodeid.partition("::")[0]):
            raise pytest.UsageError(f"{item.nodeid} needs Spark: name the file or folder so")


def _fixtures(item: pytest.Item) -> Iterator[str]:
    """Yields the names of a test's fixtures, and of those that its parameters name."""
    names = getattr(item, "fixturenames", ())
    yield from names
    callspec = getattr(item, "callspec", None)
    # by `request`, a fixture asks for another one that a parameter names
    values = callspec.params.values() if callspec and "request" in names else ()
    pending = [value for value in values if isinstance(value, str)]
    pending += [f"{name}_server" for name in pending]
    seen = set()
    while pending:
        name = pending.pop()
        if name not in seen:
            seen.add(name)
            yield name
            # of fixtures with one name the last is what a test gets
            definitions = item.session._fixturemanager.getfixturedefs(name, item)
            pending += definitions[-1].argnames if definitions else ()


def _starts_service(module: object) -> bool:
    """Returns whether a test's module imports something that starts a service."""
    return (
        any(
            getattr(value, "__module__", None) in _SERVICES and _STARTS.fullmatch(name)
            for name, value in vars(module).items()
        )
        if module
        else False
    )
