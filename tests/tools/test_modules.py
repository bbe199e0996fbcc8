"""Every file of the code says what it has."""

from __future__ import annotations

import sys

from support.checkout import ROOT

sys.path.insert(0, str(ROOT / "tools"))

import modules


def test_each_file_begins_with_a_sentence():
    found = dict(modules.sentences())
    assert len(found) > 1_500
    silent = [name for name, sentence in found.items() if not sentence]
    assert silent == ["kernel/tables/src/lib.rs"], "the README of its crate is its documentation"


def test_only_the_first_sentence_is_shown(tmp_path):
    files = {
        "src/anabranch/a.py": '"""Depths of places.\n\nMeasured."""\n',
        "src/anabranch/b.py": '"""Places: their\nnames. They are sorted."""\n',
        "src/anabranch/c_pb2.py": "",
        "kernel/tables/src/d.rs": "//! Depths in e.g. metres.\n//! By sonar.\nuse std;\n",
        "web/src/e.ts": '// Depths of the API.\n\nimport "a";\n',
        "web/src/f.svelte": "<!-- A list of\ndepths. It is long. -->\n<script>\n</script>\n",
        "web/src/g.svelte": "<p>no comment</p>\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    assert list(modules.sentences(tmp_path)) == [
        ("src/anabranch/a.py", "Depths of places"),
        ("src/anabranch/b.py", "Places: their names"),
        ("kernel/tables/src/d.rs", "Depths in e.g. metres"),
        ("web/src/e.ts", "Depths of the API"),
        ("web/src/f.svelte", "A list of depths"),
        ("web/src/g.svelte", ""),
    ]
