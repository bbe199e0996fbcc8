"""Where the kernel's crate is, and which other crates are compiled into it.

All that building and licenses need of the layout of the kernel is here; pyproject.toml names the
manifest of the crate that becomes the extension module.
"""

from __future__ import annotations

import json
import subprocess
import tomllib
from pathlib import Path
from typing import Any, NamedTuple

__all__ = ["TARGETS", "Crate", "bundled_crates", "locked_crates", "manifest", "source_folders"]

TARGETS = (
    "x86_64-unknown-linux-gnu",
    "aarch64-unknown-linux-gnu",
    "x86_64-apple-darwin",
    "aarch64-apple-darwin",
)
"""The platforms whose crates are examined."""


class Crate(NamedTuple):
    """A crate of a registry: its license is an SPDX expression, `folder` has its sources."""

    name: str
    version: str
    license: str
    folder: Path


def manifest() -> Path:
    """Returns the manifest of the extension module."""
    tool = tomllib.loads(Path("pyproject.toml").read_text("utf-8"))["tool"]
    return Path(tool["maturin"]["manifest-path"])


def locked_crates() -> set[tuple[str, str]]:
    """Returns names and versions of all crates in the lock file."""
    # a workspace has one lock file, in its root
    folder = next(each for each in manifest().parents if (each / "Cargo.lock").exists())
    lock = tomllib.loads((folder / "Cargo.lock").read_text("utf-8"))
    return {(each["name"], each["version"]) for each in lock["package"]}


def source_folders() -> set[Path]:
    """Returns the folders in which cargo keeps the sources of crates, a folder for a registry."""
    return {
        Path(each["manifest_path"]).parent.parent
        for each in _metadata()["packages"]
        if each["source"]
    }


def bundled_crates() -> list[Crate]:
    """Returns the crates of which the extension module has code, by name: no macros, nor what only
    tests and building need.
    """
    crates = set()
    for target in TARGETS:
        metadata = _metadata("--filter-platform", target)
        packages = {each["id"]: each for each in metadata["packages"]}
        nodes = {each["id"]: each for each in metadata["resolve"]["nodes"]}
        root = str(manifest().resolve())
        waiting = [each for each, found in packages.items() if found["manifest_path"] == root]
        seen = set()
        while waiting:
            identifier = waiting.pop()
            if identifier in seen or _is_macro(packages[identifier]):
                continue
            seen.add(identifier)
            waiting += [
                each["pkg"]
                for each in nodes[identifier]["deps"]
                if any(kind["kind"] is None for kind in each["dep_kinds"])
            ]
        crates |= {_crate(packages[each]) for each in seen if packages[each]["source"]}
    return sorted(crates)


def _crate(package: dict[str, Any]) -> Crate:
    folder = Path(package["manifest_path"]).parent
    return Crate(package["name"], package["version"], package["license"], folder)


def _is_macro(package: dict[str, Any]) -> bool:
    return any("proc-macro" in target["kind"] for target in package["targets"])


def _metadata(*options: str) -> dict[str, Any]:
    command = ["cargo", "metadata", "--quiet", "--format-version=1", "--locked", *options]
    command += ["--manifest-path", str(manifest())]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE)
    found: dict[str, Any] = json.loads(done.stdout)
    return found
