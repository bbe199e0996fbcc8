"""docs/single-sign-on.md: its settings are accepted, and its errors exist."""

from __future__ import annotations

import re
import textwrap
from pathlib import Path

import pytest

from anabranch.server.config.loader import load_settings

PROJECT = Path(__file__).parents[2]
PAGE = (PROJECT / "docs" / "single-sign-on.md").read_text("utf-8")
EXAMPLES = [
    textwrap.dedent(text)
    for text in re.findall(r"^ *```toml\n(.*?)```", PAGE, re.MULTILINE | re.DOTALL)
]


def test_there_are_examples():
    assert len(EXAMPLES) == 3


@pytest.mark.parametrize("example", EXAMPLES)
def test_an_example_is_accepted(example, tmp_path):
    (tmp_path / "anabranch.toml").write_text(example)
    assert load_settings({}, {}, folder=tmp_path).settings.auth.oidc


def test_the_mapping_of_groups_is_as_described(tmp_path):
    (tmp_path / "anabranch.toml").write_text(EXAMPLES[1])
    settings = load_settings({}, {}, folder=tmp_path).settings
    assert settings.auth.oidc.group_mapping == (
        ("lake-admins", "Admins"),
        ("data-science", "Developers"),
        ("data-science", "Sandbox"),
    )


def test_named_settings_exist():
    from anabranch.server.config.field import declared

    named = set(re.findall(r"`(auth\.[a-z_.]+)`", PAGE)) - {"auth.oidc", "auth.providers.oidc"}
    assert len(named) > 10
    assert named <= set(declared())


def test_named_errors_are_raised():
    source = "".join(
        path.read_text("utf-8") for path in (PROJECT / "src/anabranch/access").rglob("*.py")
    )
    table = PAGE.partition("## Errors")[2].partition("## What")[0]
    kinds = re.findall(r"`([a-z_]+)`(?=[^|]*\| \d)", table)
    assert len(kinds) > 8
    assert [kind for kind in kinds if f'"{kind}"' not in source] == []
