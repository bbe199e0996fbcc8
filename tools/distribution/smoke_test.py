"""Installs a wheel into a clean environment, and runs `anabranch quickstart --exit` there.

The programs of the environment are the only ones on the path: neither compiler nor Node or Java.
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import tempfile
from pathlib import Path

from distribution.core_install import limits, measure

__all__ = ["interpreters", "smoke_test", "wheel_for_this_machine"]

_VERSIONS = ("3.11", "3.12", "3.13", "3.14")
_OURS = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV")


def interpreters() -> list[str]:
    """Returns the Pythons that a wheel is for and that are installed here."""
    found = []
    for version in _VERSIONS:
        name = f"python{version}"
        # a program of that name may be the stand-in of a version that is not installed
        tried = [name, "-c", ""]
        if shutil.which(name) and not subprocess.run(tried, stderr=subprocess.DEVNULL).returncode:  # noqa: PLW1510
            found.append(name)
    return found


def wheel_for_this_machine(folder: Path) -> Path:
    """Returns the wheel for this machine's processor."""
    machine = platform.machine()
    wheels = [each for each in folder.glob("*.whl") if each.stem.endswith(machine)]
    if len(wheels) != 1:
        raise SystemExit(f"{folder} has {len(wheels)} wheels for {machine}")
    return wheels[0].resolve()


def smoke_test(wheel: Path, python: str, *, extra: str = "") -> None:
    """Installs the core, compares its size with the limits, and runs the quickstart; with `extra`,
    installs that then, and runs it again. Raises SystemExit if the install is too large.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        subprocess.run([python, "-m", "venv", str(folder / "venv")], check=True)
        programs = folder / "venv" / "bin"
        environment = {key: value for key, value in os.environ.items() if key not in _OURS}
        environment["PATH"] = str(programs)
        pip = [str(programs / "python"), "-m", "pip", "install", "--quiet"]
        subprocess.run([*pip, str(wheel)], check=True, env=environment, cwd=folder)
        size = measure(next((folder / "venv/lib").glob("python*/site-packages")))
        print(f"{python}: {size.packages} packages, {size.megabytes:.1f} MB", flush=True)
        if size.packages > limits().packages or size.megabytes > limits().megabytes:
            raise SystemExit(f"the core install has grown beyond {limits()}")
        _quickstart(programs, folder / "core", environment)
        if extra:
            subprocess.run([*pip, f"{wheel}[{extra}]"], check=True, env=environment, cwd=folder)
            _quickstart(programs, folder / extra, environment)


def _quickstart(programs: Path, data: Path, environment: dict[str, str]) -> None:
    command = [str(programs / "anabranch"), "quickstart", "--exit", "--no-open"]
    command += ["--data", str(data), "--listen", "127.0.0.1:0"]
    subprocess.run(command, check=True, env=environment, cwd=data.parent)
