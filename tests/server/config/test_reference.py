"""docs/settings.md lists exactly the settings."""

from __future__ import annotations

from pathlib import Path

from anabranch.server.config.field import declared, variable
from anabranch.server.config.reference import main, settings_table, with_table

PAGE = Path(__file__).parents[3] / "docs" / "settings.md"


def test_the_page_is_up_to_date():
    page = PAGE.read_text("utf-8")
    assert page == with_table(page), (
        "run: python -m anabranch.server.config.reference docs/settings.md"
    )


def test_every_setting_has_its_line():
    lines = settings_table().splitlines()[2:]
    assert len(lines) == len(declared())
    for line, (name, setting) in zip(lines, declared().items(), strict=True):
        assert line.startswith(f"| `{name}` | `{variable(name)}` | ")
        assert setting.doc.meaning in line


def test_writing_it_anew_changes_only_the_table(tmp_path):
    page = PAGE.read_text("utf-8")
    stale = tmp_path / "settings.md"
    stale.write_text(page.replace(settings_table(), "| old |"), "utf-8")
    assert stale.read_text("utf-8") != page
    main([str(stale)])
    assert stale.read_text("utf-8") == page
