"""The code of an earlier version, from the history of the checkout, with a kernel of its own."""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import tarfile
from pathlib import Path

from support.checkout import ROOT

__all__ = ["package_of"]

_CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "anabranch/versions"
_KERNEL = Path("src/anabranch/_kernel.abi3.so")


def package_of(commit: str) -> Path | None:
    """Returns the folder of the package at a commit, built once and outside of the checkout; None
    where the history does not have it, or there is no Rust. Takes minutes the first time.
    """
    archive = subprocess.run(
        ["git", "archive", commit, "src", "kernel"], cwd=ROOT, capture_output=True, check=False
    )
    if archive.returncode or shutil.which("cargo") is None:
        return None
    folder = _CACHE / commit
    if not (folder / _KERNEL).exists():
        shutil.rmtree(folder, ignore_errors=True)
        with tarfile.open(fileobj=io.BytesIO(archive.stdout)) as files:
            files.extractall(folder, filter="data")
        manifest = folder / "kernel/Cargo.toml"
        build = ["cargo", "build", "--release", "--quiet", "--manifest-path", manifest]
        environment = {**os.environ, "CARGO_TARGET_DIR": str(folder / "target")}
        subprocess.run([*build, "--package", "anabranch-kernel"], check=True, env=environment)
        (folder / "target/release/lib_kernel.so").rename(folder / _KERNEL)
        shutil.rmtree(folder / "target")
    return folder / "src"
