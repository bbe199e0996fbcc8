"""The pictures of the documentation are what a reader sees: the script takes them again, and they
are compared with those of docs/images. `make screenshots` renews them.
"""

from __future__ import annotations

import base64
import re
import sys
from pathlib import Path

import pytest
from support.checkout import ROOT
from support.services.chromium import chromium_program, running_chromium

sys.path.insert(0, str(ROOT / "tools"))

from screenshots import FOLDER, PICTURES, VIEWPORT, take_pictures

NAMES = {picture.name for picture in PICTURES}
# what these show has no times and no random numbers
SAME_EACH_TIME = {"changes", "commit", "compare", "data", "data-dark", "sign-in"}
# the graph shows when the example was made, by the second
DIFFERENT_EACH_TIME = {"storage"}
BARS_HEIGHT = 88
# Both are drawn an eighth as large, so that the edges of letters do not count; then how many of
# 100 values of red, green, blue are different.
COMPARE = """
async ([stored, taken, width, height]) => {
  const values = async (png) => {
    const image = new Image();
    image.src = "data:image/png;base64," + png;
    await image.decode();
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [width / 8, image.height / 8];
    const context = canvas.getContext("2d");
    context.imageSmoothingQuality = "high";
    context.drawImage(image, 0, 0, canvas.width, canvas.height);
    return context.getImageData(0, 0, canvas.width, height / 8).data;
  };
  const [one, other] = [await values(stored), await values(taken)];
  const different = one.filter((value, index) => Math.abs(value - other[index]) > 24);
  return (100 * different.length) / one.length;
}
"""


def test_pages_show_the_pictures_that_the_script_takes():
    stored = {path.stem for path in FOLDER.glob("*.png")}
    pages = "".join(page.read_text("utf-8") for page in ROOT.glob("docs/*.md"))
    pages += (ROOT / "README.md").read_text("utf-8")
    shown = set(re.findall(r"images/([\w-]+)\.png", pages))
    assert stored == NAMES == shown


@pytest.fixture(scope="module")
def percent_different(tmp_path_factory):
    """Returns how much of a picture, down to a height, is not as it is stored."""
    program = chromium_program()
    if program is None:
        pytest.skip("Chromium is not installed")
    taken = tmp_path_factory.mktemp("taken")
    take_pictures(taken)
    with running_chromium(program) as chromium, chromium.driven() as browser:
        page = browser.new_page()

        def compare(name: str, height: int) -> float:
            pair = [encoded(folder / f"{name}.png") for folder in (FOLDER, taken)]
            return page.evaluate(COMPARE, [*pair, VIEWPORT["width"], height])

        yield compare


def encoded(file: Path) -> str:
    return base64.b64encode(file.read_bytes()).decode()


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_pictures_are_what_a_reader_sees(percent_different):
    bars = {name: percent_different(name, BARS_HEIGHT) for name in NAMES}
    assert {name: share for name, share in bars.items() if share > 0.1} == {}
    whole = {name: percent_different(name, VIEWPORT["height"]) for name in NAMES}
    assert {name: whole[name] for name in SAME_EACH_TIME if whole[name] > 0.1} == {}
    others = NAMES - SAME_EACH_TIME - DIFFERENT_EACH_TIME
    assert {name: whole[name] for name in others if whole[name] > 5} == {}
