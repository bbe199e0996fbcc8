"""How many seconds each file of tests takes: read from a file of the checkout, which is written
from the report of a whole run (`make durations`).
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from xml.etree import ElementTree as ET

from support.selection.source_files import Project

__all__ = ["DURATIONS", "durations", "record"]

DURATIONS = "tests/durations.json"
_SECONDS_PER_LINE = 0.02
_LEAST_SECONDS = 0.05


def durations(project: Project) -> dict[str, float]:
    """Returns the seconds of each file of tests: measured, or, for new ones, by their length."""
    measured = _measured(project)
    return {
        path: measured.get(path, project.texts[path].count("\n") * _SECONDS_PER_LINE)
        for path in project.test_files()
    }


def _measured(project: Project) -> dict[str, float]:
    file = project.root / DURATIONS
    read: dict[str, float] = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    return {path: seconds for path, seconds in read.items() if path in project.texts}


def record(project: Project, reports: Iterable[Path]) -> int:
    """Writes the durations of the files in reports of pytest (`--junitxml`) into the checkout, and
    returns how many files these had. Files that are not in the reports keep theirs.
    """
    seconds: dict[str, float] = defaultdict(float)
    for report in reports:
        for case in ET.parse(report).iter("testcase"):  # noqa: S314  pytest wrote it
            if path := _file_of(case.get("classname", ""), project):
                seconds[path] += float(case.get("time", 0))
    new = {path: max(total, _LEAST_SECONDS) for path, total in seconds.items()}
    merged = {**_measured(project), **new}
    rounded = {path: round(total, 2) for path, total in sorted(merged.items())}
    text = json.dumps(rounded, indent=1)
    (project.root / DURATIONS).write_text(f"{text}\n", encoding="utf-8")
    return len(seconds)


def _file_of(class_name: str, project: Project) -> str | None:
    """`tests.model.test_page` is a file's; `tests.model.test_page.TestPage` a class's in it."""
    while class_name:
        path = f"{class_name.replace('.', '/')}.py"
        if path in project.texts:
            return path
        class_name = class_name.rpartition(".")[0]
    return None
