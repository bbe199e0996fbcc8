"""A small project in a git repository of its own."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from support.selection.source_files import Project, load_project


class Checkout:
    """A git repository in a folder, whose files a test writes."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.git("init", "--quiet", "--initial-branch=main")

    def git(self, *arguments: str) -> None:
        identity = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")
        subprocess.run(["git", *identity, *arguments], cwd=self.root, check=True)

    def write(self, files: Mapping[str, str]) -> None:
        for name, text in files.items():
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)

    def commit(self, files: Mapping[str, str]) -> None:
        self.write(files)
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message=files")


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    return Checkout(tmp_path)


@pytest.fixture
def project(tmp_path: Path) -> Callable[..., Project]:
    """Returns the function that makes a project of files, given their texts by their paths."""

    def make(files: Mapping[str, str]) -> Project:
        for name, text in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return load_project(tmp_path)

    return make
