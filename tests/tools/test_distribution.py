"""What a distribution holds and brings: declarations, and with `make dist` the real thing."""

from __future__ import annotations

import json
import re
import sys
import tomllib
import zipfile
from importlib.metadata import distribution

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from support.checkout import ROOT

sys.path.insert(0, str(ROOT / "tools"))

from distribution.contents import problems_of_wheel
from distribution.core_install import CoreInstall, limits, measure
from distribution.kernel_layout import locked_crates, manifest

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
PAGE = (ROOT / "docs/installing.md").read_text("utf-8")
EXTRAS = dict(re.findall(r"^\| `([a-z0-9-]+)` \| .* \| (\d+) \|$", PAGE, re.MULTILINE))
OPTIONAL = PROJECT["optional-dependencies"]
PACKAGES = re.compile(r"^(\S+) ([\d.]+\S*): \S", re.MULTILINE)


@pytest.fixture(autouse=True)
def _in_checkout(monkeypatch):
    monkeypatch.chdir(ROOT)


def packages_behind(requirements):
    """Returns the names of all packages that requirements bring, those of extras included."""
    found = set()
    waiting = [("", Requirement(each)) for each in requirements]
    while waiting:
        parent_extra, requirement = waiting.pop()
        marker = requirement.marker
        if marker is not None and not marker.evaluate({"extra": parent_extra}):
            continue
        name = canonicalize_name(requirement.name)
        for extra in ("", *requirement.extras):
            if (name, extra) not in found:
                found.add((name, extra))
                waiting += [(extra, Requirement(each)) for each in _requires(name, extra)]
    return {name for name, _ in found} - {PROJECT["name"]}


def _requires(name, extra):
    if name == PROJECT["name"]:  # the installed metadata may be older
        return PROJECT["optional-dependencies"].get(extra, PROJECT["dependencies"])
    return distribution(name).requires or []


def size(name):
    """Returns the bytes of an installed package, without bytecode, as its RECORD lists them."""
    return sum(file.size or 0 for file in distribution(name).files if file.suffix != ".pyc")


def test_core_install_stays_small():
    core = packages_behind(PROJECT["dependencies"])
    own = measure_own()
    assert len(core) + 1 <= limits().packages
    total = sum(map(size, core)) / 1e6 + own
    assert total <= limits().megabytes
    said = re.search(r"alone brings (\d+) packages, (\d+) MB", PAGE)
    assert int(said[1]) == len(core) + 1
    assert int(said[2]) == pytest.approx(total, rel=0.1)


def measure_own():
    folder = ROOT / "src/anabranch"
    return (
        sum(
            file.stat().st_size
            for file in folder.rglob("*")
            if file.is_file() and file.suffix != ".pyc"
        )
        / 1e6
    )


def test_measure_counts_packages_and_no_bytecode_nor_installers(tmp_path):
    for name, length in (
        ("lake/a.py", 1_000_000),
        ("lake/__pycache__/a.pyc", 5_000_000),
        ("lake-1.0.dist-info/RECORD", 500_000),
        ("pip/a.py", 3_000_000),
        ("pip-23.dist-info/RECORD", 1_000_000),
    ):
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(bytes(length))
    assert measure(tmp_path) == CoreInstall(1, 1.5)


def test_page_lists_every_extra():
    assert list(EXTRAS) == list(OPTIONAL)


@pytest.mark.sample(4)
@pytest.mark.parametrize("extra", OPTIONAL)
def test_sizes_of_extras_are_true(extra):
    core = packages_behind(PROJECT["dependencies"])
    try:
        brought = sum(map(size, packages_behind(OPTIONAL[extra]) - core)) / 1e6
    except ModuleNotFoundError as missing:
        pytest.skip(f"not installed: {missing.name}")
    assert int(EXTRAS[extra]) == pytest.approx(brought, rel=0.15, abs=3)


def test_documents_name_extras_that_exist():
    named = set()
    for file in [*ROOT.glob("docs/**/*.md"), ROOT / "README.md", *ROOT.glob("src/**/*.py")]:
        text = file.read_text("utf-8")
        for extras in re.findall(r"(?:anabranch|\.whl\)?)\[([a-z0-9,-]+)\]", text):
            named |= set(extras.split(","))
    assert named - set(OPTIONAL) == set()
    assert {"s3", "gcs", "azure", "fast"} <= named


def test_licenses_of_the_kernel_are_of_locked_crates():
    text = (ROOT / "licenses/kernel.txt").read_text("utf-8")
    listed = set(PACKAGES.findall(text))
    assert len(listed) > 30
    assert listed - locked_crates() == set()
    # those that the kernel names itself, but for tests and macros
    direct = re.findall(r"^([\w-]+) ?= ", manifest_section("dependencies"), re.MULTILINE)
    assert {name for name in direct if not name.startswith("anabranch")} <= {
        name for name, _ in listed
    }


def manifest_section(name):
    pattern = rf"^\[{name}\]$(.*?)(?:^\[|\Z)"
    found = re.search(pattern, manifest().read_text("utf-8"), re.MULTILINE | re.DOTALL)
    return found[1] if found else ""


def test_licenses_of_the_page_are_of_locked_packages():
    lock = json.loads((ROOT / "web/package-lock.json").read_text("utf-8"))["packages"]
    listed = PACKAGES.findall((ROOT / "licenses/page.txt").read_text("utf-8"))
    assert {"svelte", "pdfjs-dist"} <= {name for name, _ in listed}
    for name, version in listed:
        assert lock[f"node_modules/{name}"]["version"] == version
    materials = json.loads((ROOT / "licenses/page.cyclonedx.json").read_text("utf-8"))
    assert [(each["name"], each["version"]) for each in materials["components"]] == listed


def test_licenses_of_the_page_are_those_of_the_built_page():
    built = ROOT / "src/anabranch/web/static/packages.json"
    if not built.exists():
        pytest.skip("the page is not built here")
    listed = PACKAGES.findall((ROOT / "licenses/page.txt").read_text("utf-8"))
    assert [(each["name"], each["version"]) for each in json.loads(built.read_text())] == listed


def test_incomplete_wheels_are_seen(tmp_path, monkeypatch):
    monkeypatch.setattr("distribution.contents.source_folders", lambda: {ROOT / "registry"})
    wheel = tmp_path / f"anabranch-{PROJECT['version']}-cp311-cp311-linux_x86_64.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("anabranch/_kernel.abi3.so", f"{ROOT}/registry/snap/src/lib.rs")
    problems = list(problems_of_wheel(wheel))
    assert "not for every Python" in problems[0]
    assert any("index" in problem for problem in problems)
    assert any("page" in problem and "sboms" in problem for problem in problems)
    assert problems[-2].endswith("_kernel.abi3.so names a folder of this machine")
    assert problems[-1].endswith("_kernel.abi3.so is not for x86_64")


def test_no_lock_file_names_a_registry_of_this_machine():
    lock = (ROOT / "web/package-lock.json").read_text("utf-8")
    assert '"resolved"' not in lock
