"""Installs the checkout into the environment of this Python without a compiler.

    .venv/bin/python tools/kernel_from_wheel.py

A wheel in dist/ must fit: it has the checkout's version, and its kernel the same interface. The
kernel and the built page are taken from it; the Python files that run are those of the checkout.
"""

from __future__ import annotations

import platform
import shutil
import subprocess
import sys
import sysconfig
import tomllib
import zipfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
KERNEL = "_kernel.abi3.so"
PAGE = "web/static/"
MISSING = """\
Rust is missing, which compiles the kernel, and {folder} has no wheel that fits this checkout.
  With Rust 1.88 or newer from https://rustup.rs, `make install` compiles it.
  Without: put a wheel of version {version} for {machine} into {folder} (docs/installing.md)."""


def fitting_wheel(folder: Path, package: Path, version: str) -> Path | None:
    """Returns a wheel of a folder that fits the package of a checkout, None without one."""
    interface = {path.name: path.read_bytes() for path in sorted(package.glob("_kernel*.pyi"))}
    for wheel in sorted(folder.glob(f"anabranch-{version}-*{platform.machine()}.whl")):
        with zipfile.ZipFile(wheel) as archive:
            names = [name for name in archive.namelist() if Path(name).match("anabranch/_k*.pyi")]
            found = {Path(name).name: archive.read(name) for name in names}
        if found == interface:
            return wheel
    return None


def take(wheel: Path, package: Path) -> None:
    """Writes the kernel and the page of a wheel into the package of a checkout."""
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            inside = name.removeprefix("anabranch/")
            if inside != name and (inside == KERNEL or inside.startswith(PAGE)):
                target = package / inside
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(archive.read(name))


def install(wheel: Path, sources: Path) -> None:
    """Installs the programs and the metadata of a wheel, with the package of a checkout."""
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "--force-reinstall", "--no-deps", str(wheel)], check=True)
    purelib, platlib = (Path(sysconfig.get_path(name)) for name in ("purelib", "platlib"))
    for place in {purelib, platlib}:
        shutil.rmtree(place / "anabranch", ignore_errors=True)
    (purelib / "anabranch.pth").write_text(f"{sources}\n", encoding="utf-8")


def main() -> int:
    """Returns the exit code."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    folder, package = ROOT / "dist", ROOT / "src/anabranch"
    wheel = fitting_wheel(folder, package, project["version"])
    if wheel is None:
        words = {"version": project["version"], "machine": platform.machine()}
        print(MISSING.format(folder=folder, **words), file=sys.stderr)
        return 1
    print(f"taking the kernel from {wheel.name}, as there is no Rust here")
    take(wheel, package)
    install(wheel, package.parent)
    return 0


if __name__ == "__main__":
    sys.exit(main())
