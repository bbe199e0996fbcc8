"""Installs a wheel into a clean environment, and runs `anabranch quickstart --exit` there.

The programs of the environment are the only ones on the path: neither compiler nor Node or Java.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from pathlib import Path

from distribution.core_install import limits, measure

__all__ = ["smoke_test", "smoke_test_emulated"]

_OURS = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV")
_MANYLINUX = ("manylinux2014", "manylinux_2_17", "manylinux_2_28")


def smoke_test(wheel: Path, python: str, *, extra: str = "") -> None:
    """Installs the core, compares its size with the limits, and runs the quickstart; with `extra`,
    installs that then, and runs it again. Raises SystemExit if the install is too large.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        subprocess.run([python, "-m", "venv", str(folder / "venv")], check=True)
        programs = folder / "venv" / "bin"
        environment = _without_ours() | {"PATH": str(programs)}
        pip = [str(programs / "python"), "-m", "pip", "install", "--quiet"]
        subprocess.run([*pip, str(wheel)], check=True, env=environment, cwd=folder)
        size = measure(next((folder / "venv/lib").glob("python*/site-packages")))
        print(f"{python}: {size.packages} packages, {size.megabytes:.1f} MB", flush=True)
        if size.packages > limits().packages or size.megabytes > limits().megabytes:
            raise SystemExit(f"the core install has grown beyond {limits()}")
        program = [str(programs / "anabranch")]
        _quickstart(program, folder / "core", environment)
        if extra:
            subprocess.run([*pip, f"{wheel}[{extra}]"], check=True, env=environment, cwd=folder)
            _quickstart(program, folder / extra, environment)


def smoke_test_emulated(wheel: Path, installer: str, python: str) -> None:
    """Does the same with a wheel for aarch64 and an emulated Python 3.11. A Python of this machine
    installs, which no program of the other processor needs to run for; sizes are not compared.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        pip = [installer, "-m", "pip", "install", "--quiet", "--target", str(folder / "packages")]
        pip += ["--only-binary", ":all:", "--no-compile", "--python-version", "3.11"]
        pip += [f"--platform={each}_aarch64" for each in _MANYLINUX]
        subprocess.run([*pip, str(wheel)], check=True, env=_without_ours(), cwd=folder)
        environment = _without_ours() | {"PATH": "", "PYTHONPATH": str(folder / "packages")}
        _quickstart([python, "-m", "anabranch"], folder / "core", environment)


def _without_ours() -> dict[str, str]:
    return {key: value for key, value in os.environ.items() if key not in _OURS}


def _quickstart(program: list[str], data: Path, environment: dict[str, str]) -> None:
    command = [*program, "quickstart", "--exit", "--no-open"]
    command += ["--data", str(data), "--listen", "127.0.0.1:0"]
    subprocess.run(command, check=True, env=environment, cwd=data.parent)
