"""The page of all commands is the program's own words."""

from __future__ import annotations

from pathlib import Path

from anabranch.cli.reference import reference

PAGE = Path(__file__).parents[2] / "docs" / "commands.md"


def test_the_page_is_current():
    assert PAGE.read_text() == reference(), (
        "run: python -m anabranch.cli.reference > docs/commands.md"
    )
