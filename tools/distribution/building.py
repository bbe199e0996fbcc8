"""Calls maturin, which builds the source distribution, and wheels for a platform each.

Wheels for Linux are linked by zig against the oldest glibc that Rust supports (manylinux2014), so
they need no container to be built in. The compiler replaces the folders of crates by `crates/`:
else names of this machine's folders and of its registry would be in the messages of panics.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from distribution.kernel_layout import TARGETS, manifest, source_folders

__all__ = ["build", "targets_here"]

_GLIBC = "manylinux2014"


def targets_here() -> list[str]:
    """Returns the targets that the Rust of this machine can compile for: on Linux those of Linux,
    elsewhere the machine's own.
    """
    libraries = Path(_printed("rustc", "--print", "sysroot")) / "lib/rustlib"
    if sys.platform == "linux":
        linux = [target for target in TARGETS if "linux" in target]
        return [target for target in linux if (libraries / target / "lib").is_dir()]
    return [_printed("rustc", "--print", "host-tuple")]


def build(folder: Path, targets: Sequence[str]) -> None:
    """Builds into a folder; what was there of earlier builds is removed."""
    for old in (*folder.glob("*.whl"), *folder.glob("*.tar.gz")):
        old.unlink()
    subprocess.run(
        ["cargo", "fetch", "--quiet", "--locked", "--manifest-path", str(manifest())], check=True
    )
    flags = [f"--remap-path-prefix={found}=crates" for found in sorted(source_folders())]
    environment = os.environ | {
        "CARGO_ENCODED_RUSTFLAGS": "\x1f".join(flags),
        # where maturin looks for a Python with ziglang
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
    }
    for target in targets:
        # --sdist: a wheel is built from the source distribution, not from this folder
        command = [sys.executable, "-m", "maturin", "build", "--release", "--locked", "--sdist"]
        command += ["--target", target, "--out", str(folder)]
        if "linux" in target:
            command += ["--zig", "--compatibility", _GLIBC]
        subprocess.run(command, check=True, env=environment)


def _printed(*command: str) -> str:
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()
