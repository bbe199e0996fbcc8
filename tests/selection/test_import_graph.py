"""From a changed module to the files of tests that reach it."""

from __future__ import annotations

import pytest
from support.selection.import_graph import distances, importers
from support.selection.source_files import imported_names

STORE = "src/anabranch/store.py"


def reached(project):
    """The files of tests that reach the store, by the number of imports between."""
    found = distances([STORE], importers(project))
    return {path: steps for path, steps in found.items() if path in project.test_files()}


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("import a.b, c as d", {"a.b", "c"}),
        ("from a import b as c, d", {"a", "a.b", "a.d"}),
        ("from a import (\n    b,  # why\n    c,\n)\n", {"a", "a.b", "a.c"}),
        ("def f():\n    from a import b\n", {"a", "a.b"}),
        ('PROGRAM = """\nimport a\n"""', {"a"}),
        ("from .b import c", {"p.q.b", "p.q.b.c"}),
        ("from ..b import c", {"p.b", "p.b.c"}),
        ("from . import c", {"p.q", "p.q.c"}),
        ("important = 1", set()),
    ],
)
def test_imports_are_read(text, names):
    assert set(imported_names(text, "p.q")) == names


def test_a_test_reaches_what_its_imports_import(project):
    files = {
        STORE: "",
        "src/anabranch/merge.py": "from anabranch.store import get",
        "src/anabranch/other.py": "",
        "tests/test_merge.py": "import anabranch.merge",
        "tests/test_store.py": "from anabranch import store",
        "tests/test_other.py": "from anabranch import other",
    }
    assert reached(project(files)) == {"tests/test_store.py": 1, "tests/test_merge.py": 2}


def test_modules_that_run_as_processes_are_reached(project):
    files = {
        STORE: "",
        "src/anabranch/__main__.py": "import anabranch.store",
        "src/anabranch/job.py": "import anabranch.store",
        "tests/support/server.py": 'COMMAND = [executable, "-m", "anabranch", "serve"]',
        "tests/test_server.py": "from support.server import COMMAND",
        "tests/test_job.py": 'MODULE = "anabranch.job"',
        "src/anabranch/deep/job.py": "import anabranch.store",
        "tests/test_deep_job.py": 'FACTORY = "anabranch.deep.job:run"',
        "tests/test_attribute.py": 'patch.setattr("anabranch.store.get", None)',
        "tests/test_text.py": 'NAME = "anabranch"',
    }
    assert reached(project(files)) == {
        "tests/test_server.py": 3,
        "tests/test_job.py": 2,
        "tests/test_deep_job.py": 2,
        "tests/test_attribute.py": 1,
    }


def test_modules_that_no_module_imports_are_reached_through_the_registry_above(project):
    files = {
        "src/anabranch/commands/registry.py": "module = import_module(name)",
        "src/anabranch/commands/deep/show.py": "import anabranch.store",
        "src/anabranch/elsewhere/show.py": "import anabranch.store",
        STORE: "",
        "tests/test_show.py": "import anabranch.commands.registry",
    }
    assert reached(project(files)) == {"tests/test_show.py": 3}


CONFTEST = """
import pytest
from anabranch.store import Store
from anabranch.other import Other

def opened():
    return Store()

@pytest.fixture
def store():
    return opened()

@pytest.fixture(name="lake")
def _lake(store):
    return Other(store)

@pytest.fixture
def other():
    return Other()

@pytest.fixture
def chosen(request):
    return request.getfixturevalue(f"{request.param}_store")

@pytest.fixture
def small_store():
    return Store()
"""


def test_a_test_reaches_what_its_fixtures_use(project):
    files = {
        STORE: "class Store: ...",
        "src/anabranch/other.py": "",
        "tests/a/conftest.py": CONFTEST,
        "tests/a/test_store.py": "def test_a(store): ...",
        "tests/a/test_lake.py": "def test_a(\n    tmp_path, lake\n): ...",
        "tests/a/test_chosen.py": "def test_a(chosen): ...",
        "tests/a/test_named.py": '@pytest.mark.usefixtures("store")\ndef test_a(): ...',
        "tests/a/test_other.py": "def test_a(other): ...",
        "tests/b/test_elsewhere.py": "def test_a(store): ...",
    }
    assert reached(project(files)) == {
        "tests/a/test_store.py": 2,
        "tests/a/test_named.py": 2,
        "tests/a/test_lake.py": 3,
        "tests/a/test_chosen.py": 2,
    }


def test_automatic_fixtures_are_used_by_all_tests_below(project):
    conftest = (
        "import pytest\nfrom anabranch.store import Store\n"
        "@pytest.fixture(autouse=True)\ndef clean():\n    Store()\n"
    )
    files = {
        STORE: "",
        "tests/a/conftest.py": conftest,
        "tests/a/b/test_one.py": "",
        "tests/test_two.py": "",
    }
    assert reached(project(files)) == {"tests/a/b/test_one.py": 2}
