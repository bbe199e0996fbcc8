"""The plots of the page on performance are those of the committed figures, which a script makes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).parents[2]
BENCHMARKS = CHECKOUT / "benchmarks"
IMAGES = CHECKOUT / "docs" / "images"


def run(script, *arguments):
    command = [sys.executable, BENCHMARKS / script, *arguments]
    subprocess.run(command, check=True, timeout=200, stdout=subprocess.DEVNULL)


def test_plots_are_those_of_the_figures(tmp_path):
    run("scale_plots.py", BENCHMARKS / "scale" / "measured.json", tmp_path)
    drawn = {file.name: file.read_text() for file in tmp_path.iterdir()}
    assert drawn == {file.name: file.read_text() for file in IMAGES.glob("scale-*.svg")}


@pytest.mark.slow
def test_figures_of_another_size_are_put_beside_the_others(tmp_path):
    file = tmp_path / "figures.json"
    for size in ("40", "50"):
        run("bench_scale.py", "--branches", size, "--json", file, "--folder", tmp_path)
    figures = json.loads(file.read_text())["figures"]["branches"]
    assert figures
    assert all(set(sizes) == {"40", "50"} for sizes in figures.values())
    assert all(value > 0 for sizes in figures.values() for value, _ in sizes.values())
