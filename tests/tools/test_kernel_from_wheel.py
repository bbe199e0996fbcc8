"""A checkout is installed without a compiler, if there is a wheel that fits."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from support.checkout import ROOT
from support.services.installed_wheel import write_wheel

VERSION = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["version"]


@pytest.fixture
def checkout(tmp_path):
    """A copy of the Python files, without kernel and page."""
    copy = tmp_path / "checkout"
    skipped = shutil.ignore_patterns("__pycache__", "*.so", "static")
    shutil.copytree(ROOT / "src", copy / "src", ignore=skipped)
    (copy / "tools").mkdir()
    shutil.copy(ROOT / "tools/kernel_from_wheel.py", copy / "tools")
    shutil.copy(ROOT / "pyproject.toml", copy)
    (copy / "dist").mkdir()
    return copy


@pytest.fixture
def python(tmp_path):
    """An environment that has the libraries of this one."""
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "venv"], check=True)
    program = tmp_path / "venv/bin/python"
    code = "import sysconfig; print(sysconfig.get_path('purelib'))"
    ours, theirs = (
        subprocess.run([each, "-c", code], check=True, capture_output=True, text=True).stdout
        for each in (sys.executable, program)
    )
    # behind its own, and without the .pth files of these libraries
    Path(theirs.strip(), "libraries.pth").write_text(ours)
    return program


def run(*words, cwd):
    environment = {"HOME": str(cwd), "PATH": "/usr/bin:/bin"}
    environment |= {name: value for name, value in os.environ.items() if name.startswith("PIP_")}
    return subprocess.run(
        [*map(str, words)], cwd=cwd, env=environment, capture_output=True, text=True, check=False
    )


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_the_checkout_runs_with_the_kernel_of_a_wheel(checkout, python):
    write_wheel(checkout / "dist")
    ran = run(python, "tools/kernel_from_wheel.py", cwd=checkout)
    assert ran.returncode == 0, ran.stderr
    where = "import anabranch, anabranch._kernel as k; print(anabranch.__file__, k.__file__)"
    ran = run(python, "-P", "-c", where, cwd=checkout.parent)
    assert ran.returncode == 0, ran.stderr
    assert all(path.startswith(str(checkout / "src")) for path in ran.stdout.split())
    (page,) = (checkout / "src/anabranch/web/static").glob("index.html")
    assert page.read_bytes() == (ROOT / "src/anabranch/web/static/index.html").read_bytes()
    words = ("quickstart", "--exit", "--no-open", "--data", "lake", "--listen", "127.0.0.1:0")
    ran = run(python.parent / "anabranch", *words, cwd=checkout.parent)
    assert ran.returncode == 0, ran.stderr


@pytest.mark.sample(1)
@pytest.mark.parametrize("reason", ["none", "version", "interface"])
def test_without_a_wheel_that_fits_it_says_what_to_do(checkout, reason):
    if reason != "none":
        wheel = write_wheel(checkout / "dist")
    if reason == "version":
        wheel.rename(wheel.with_name(wheel.name.replace(VERSION, "0.0.9")))
    if reason == "interface":
        with (checkout / "src/anabranch/_kernel.pyi").open("a") as file:
            file.write("def new() -> None: ...\n")
    ran = run(sys.executable, "tools/kernel_from_wheel.py", cwd=checkout)
    assert ran.returncode == 1
    assert "https://rustup.rs" in ran.stderr
    assert f"a wheel of version {VERSION}" in ran.stderr
    assert not (checkout / "src/anabranch/_kernel.abi3.so").exists()
