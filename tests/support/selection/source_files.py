"""The Python files of a project: the names by which they are imported, and their text."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

__all__ = ["Project", "imported_names", "load_project"]

_IMPORT = re.compile(
    r"^[ \t]*(?:from[ \t]+([\w.]+)[ \t]+import[ \t]+(\([^)]*\)|[^\n]+)|import[ \t]+([^\n]+))",
    re.MULTILINE,
)
_COMMENT = re.compile(r"#[^\n]*")


class Project(NamedTuple):
    """A checkout: `texts` has the text of each Python file below `src` and `tests` by its path,
    `modules` the path of each by the name of its module.
    """

    root: Path
    texts: Mapping[str, str]
    modules: Mapping[str, str]

    def names(self) -> dict[str, str]:
        """Returns the name of each file that is a module, by its path."""
        return {path: name for name, path in self.modules.items()}

    def test_files(self) -> list[str]:
        """Returns the paths of the files that hold tests."""
        return [
            path
            for path in self.texts
            if path.startswith("tests/") and Path(path).name.startswith("test_")
        ]


def load_project(root: Path) -> Project:
    """Reads the Python files of the checkout at `root`."""
    texts: dict[str, str] = {}
    modules: dict[str, str] = {}
    for folder in ("src", "tests"):
        for file in sorted((root / folder).rglob("*.py")):
            path = file.relative_to(root).as_posix()
            texts[path] = file.read_text(encoding="utf-8")
            modules[_module_name(file.relative_to(root / folder))] = path
    return Project(root, texts, modules)


def _module_name(path: Path) -> str:
    parts = path.with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imported_names(text: str, package: str) -> Iterator[str]:
    """Yields the dotted names that `text`, of a module in `package`, imports: at its top, in
    functions, and in programs that it holds as strings. `from a import b` yields `a` and `a.b`.
    """
    for origin, members, plain in _IMPORT.findall(text):
        if plain:
            for member in plain.split(","):
                yield member.split()[0] if member.strip() else ""
            continue
        base = _absolute(origin, package)
        yield base
        for member in _COMMENT.sub("", members).strip("() \t").split(","):
            if words := member.split():
                yield f"{base}.{words[0]}"


def _absolute(origin: str, package: str) -> str:
    name = origin.lstrip(".")
    dots = len(origin) - len(name)
    if not dots:
        return name
    parents = package.split(".")
    return ".".join([*parents[: len(parents) - dots + 1], *([name] if name else [])])
