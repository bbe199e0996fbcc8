"""What proves a change of the kernel or the web interface: Cargo's tests, Vitest, svelte-check."""

from __future__ import annotations

import json
from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from typing import NamedTuple

__all__ = ["Check", "other_checks", "stale_build"]

_KERNEL = "src/anabranch/_kernel.abi3.so"
_PAGES = "src/anabranch/web/static/index.html"


class Check(NamedTuple):
    """A command that is run beside the tests of Python."""

    name: str
    command: Sequence[str]


def other_checks(root: Path, changed: Sequence[str]) -> list[Check]:
    """Returns the commands that a change needs beside pytest."""
    found = []
    if modules := [PurePosixPath(path) for path in changed if path.startswith("kernel/")]:
        filters = sorted({_module(path) for path in modules if path.parts[2:3] == ("src",)})
        crates = sorted({f"--package=anabranch-{path.parts[1]}" for path in modules})
        options = ["--quiet", "--manifest-path", "kernel/Cargo.toml"]
        # one target: the tests of examples and of integration take longer than the others
        tests = [*crates, "--lib", "--", *filters] if filters and "" not in filters else []
        found.append(Check("cargo test", ["cargo", "test", *options, *tests]))
    if any(path.startswith("web/") for path in changed):
        package = json.loads((root / "web/package.json").read_text(encoding="utf-8"))
        if "test" in package["scripts"]:
            found.append(Check("npm test", ["npm", "test", "--silent", "--prefix", "web"]))
        # svelte-check, with the types that it needs
        found.append(Check("make web-check", ["make", "--silent", "web-check"]))
    return found


def _module(path: PurePosixPath) -> str:
    """`kernel/tables/src/tree/merge.rs` has the tests of `tree::`, as its neighbours use it."""
    parts = path.with_suffix("").parts[3:]
    if parts in (("lib",), ("error",)) or path.parts[1] == "python":
        return ""
    return f"{parts[0]}::"


def stale_build(root: Path, changed: Sequence[str]) -> dict[str, str]:
    """Returns the changed files that Python's tests do not see, because what is built from them is
    older than they are, each with the word that builds it.
    """
    builds = {"kernel/*/src/**": (_KERNEL, "make install"), "web/src/**": (_PAGES, "make web")}
    return {
        path: word
        for pattern, (built, word) in builds.items()
        for path in changed
        if fnmatchcase(path, pattern) and _is_newer(root / path, root / built)
    }


def _is_newer(source: Path, built: Path) -> bool:
    if not source.exists() or not built.exists():
        return True
    return source.stat().st_mtime > built.stat().st_mtime
