"""The table of ARCHITECTURE.md that names every module, by folder."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Final

from reference_pages.marked_tables import markdown_table

_FILES: Final = ("src/anabranch/**/*.py", "kernel/*/src/**/*.rs")
_WITHOUT_SUBJECT: Final = ("__init__.py", "__main__.py", "mod.rs", "lib.rs")


def tables(project: Path) -> dict[str, str]:
    """Returns the table under the name of its marks: a row for each folder of the package and
    of the kernel, with its modules.
    """
    modules: dict[str, list[str]] = defaultdict(list)
    for pattern in _FILES:
        for path in project.glob(pattern):
            if path.name not in _WITHOUT_SUBJECT and not path.stem.endswith("_pb2"):
                folder = path.parent.relative_to(project).as_posix()
                modules[folder.removeprefix("src/anabranch/")].append(path.stem)
    rows = ((f"`{folder}/`", ", ".join(sorted(names))) for folder, names in sorted(modules.items()))
    return {"modules": markdown_table(("Folder", "Modules"), rows)}
