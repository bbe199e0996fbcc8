"""`make coverage`: what is measured, the page's figures, and the reasons that it requires."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "tools" / "coverage_page.py"
HIGH, LOW, OTHER = (
    "src/anabranch/errors.py",
    "src/anabranch/cli/main.py",
    "src/anabranch/cli/errors.py",
)

SERVER = """
import sys, urllib.request
from anabranch.testing.server import running_server
with running_server(sys.argv[1], workers=int(sys.argv[2])) as server:
    urllib.request.urlopen(f"{server.url}/_health").read()
"""


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.slow
def test_servers_that_tests_start_are_measured(tmp_path, workers):
    program = tmp_path / "program.py"
    program.write_text(SERVER)
    # without what makes `make coverage` measure the processes of this test, too
    environment = {key: os.environ[key] for key in os.environ if not key.startswith("COVERAGE_")}
    settings = [f"--rcfile={ROOT / 'pyproject.toml'}", f"--data-file={tmp_path / 'data'}"]

    def coverage(*arguments: str | Path) -> None:
        command = [sys.executable, "-m", "coverage", *arguments]
        subprocess.run(command, cwd=ROOT, env=environment, check=True, capture_output=True)

    coverage("run", *settings, program, tmp_path / "lake", str(workers))
    coverage("combine", *settings, "--quiet")
    reported = "src/anabranch/server/*,src/anabranch/spark/jobs/*"
    coverage("json", *settings, f"--include={reported}", "-o", tmp_path / "report.json")
    files = json.loads((tmp_path / "report.json").read_bytes())["files"]
    responding = files["src/anabranch/server/http/connection.py"]["functions"]
    assert responding["Connection.data_received"]["summary"]["covered_lines"] > 0
    served = files["src/anabranch/server/serve.py"]["functions"]
    in_worker = served["Worker.__call__"]["summary"]["covered_lines"]
    assert (in_worker > 0) == (workers > 1)
    unused = files["src/anabranch/spark/jobs/exports.py"]["summary"]
    assert unused["covered_lines"] == 0 < unused["num_statements"]


def test_the_page_has_a_figure_for_each_package_and_the_files_below_the_limit(tmp_path):
    ran, page = write_page(tmp_path, f'"{LOW}" = "a reason"')
    assert (ran.returncode, ran.stderr) == (0, "")
    assert "| cli/ | 2 | 20 | 85 % |" in page
    assert "| modules beside the packages | 1 | 8 | 100 % |" in page
    assert f"| `{LOW}` | 70 % | a reason |" in page
    assert f"`{OTHER}`" not in page
    assert page.count("Not measured.") == 2


def test_the_kernel_and_the_pages_have_figures_of_their_own(tmp_path):
    kernel = {
        str(ROOT / "kernel/tables/src/table/block.rs"): (10, 9),
        str(ROOT / "kernel/tables/src/files.rs"): (1000, 799),
    }
    _, page = write_page(
        tmp_path, "", kernel=kernel, pages={str(ROOT / "web/src/diff/a.ts"): (0, 0)}
    )
    assert "| tables/table/ | 1 | 10 | 90 % |" in page
    assert "| tables/ | 1 | 1000 | 79 % |" in page
    assert "| **all** | 2 | 1010 | 80 % |" in page
    assert "| `kernel/tables/src/files.rs` | 79 % |" in page
    assert "| diff/ | 1 | 0 | 100 % |" in page
    assert "Not measured." not in page


@pytest.mark.parametrize(
    ("reasons", "problem"),
    [
        ("", f"{LOW}: 70 % of its lines are covered, for no given reason"),
        (f'"{LOW}" = ""', f"{LOW}: 70 % of its lines are covered, for no given reason"),
        (
            f'"{LOW}" = "a reason"\n"src/gone.py" = "a reason"',
            "src/gone.py: there is a reason for its low coverage, but no such file",
        ),
    ],
)
def test_a_missing_reason_and_one_for_no_file_are_errors(tmp_path, reasons, problem):
    ran, _ = write_page(tmp_path, reasons)
    assert (ran.returncode, ran.stderr.splitlines()) == (1, [problem])


def write_page(folder: Path, reasons: str, *, kernel=None, pages=None):
    """Runs the tool over reports as the three programs write them; returns how it ended, and the
    page.
    """
    python = {HIGH: (8, 8), LOW: (10, 7), OTHER: (10, 10)}
    (folder / "reasons.toml").write_text(reasons)
    reports = {
        "python": {
            "files": {
                path: {"summary": {"num_statements": lines, "covered_lines": covered}}
                for path, (lines, covered) in python.items()
            }
        },
        "rust": {
            "data": [
                {
                    "files": [
                        {
                            "filename": path,
                            "summary": {"lines": {"count": lines, "covered": covered}},
                        }
                        for path, (lines, covered) in (kernel or {}).items()
                    ]
                }
            ]
        },
        "typescript": {
            path: {"lines": {"total": lines, "covered": covered}}
            for path, (lines, covered) in {"total": (0, 0), **(pages or {})}.items()
        },
    }
    command = [sys.executable, PAGE, "--page", folder / "page.md"]
    command += ["--reasons", folder / "reasons.toml"]
    for language, report in reports.items():
        (folder / language).write_text(json.dumps(report))
        command += [f"--{language}", folder / language]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    return ran, (folder / "page.md").read_text()
