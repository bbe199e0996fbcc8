"""The table of docs/settings.md lists exactly the settings."""

from __future__ import annotations

import sys

from support.checkout import ROOT

from anabranch.server.config.field import declared, variable

sys.path.insert(0, str(ROOT / "tools"))

from reference_pages.settings import tables


def test_every_setting_has_its_line():
    lines = tables(ROOT)["settings"].splitlines()[2:]
    assert len(lines) == len(declared())
    for line, (name, setting) in zip(lines, declared().items(), strict=True):
        assert line.startswith(f"| `{name}` | `{variable(name)}` | ")
        assert setting.doc.meaning in line
