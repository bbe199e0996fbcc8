"""The file of merge rules, and what is wrong with it."""

import pytest

from anabranch.errors import Invalid
from anabranch.versioning.merging.rules_file import parse_rules


def test_rules_keep_their_order_and_options():
    rules = parse_rules(
        b"rules:\n"
        b'  - {path: "tables/*.csv", strategy: base}\n'
        b"  - path: models/**\n    strategy: source-wins\n"
    )
    assert [(rule.path, rule.strategy) for rule in rules] == [
        ("tables/*.csv", "base"),
        ("models/**", "source-wins"),
    ]


@pytest.mark.parametrize("content", [b"", b"# nothing\n", b"rules: []\n"])
def test_files_without_rules_have_none(content):
    assert list(parse_rules(content)) == []


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"rules: {", "line 2"),
        (b"rules:\n  a: 1\n", "line 2: field rules: must be a list"),
        (b"- a\n", "line 1: must be a mapping"),
        (b"rules: []\nother: 1\n", "line 2: field other: unknown field"),
        (b"rules:\n  - strategy: base\n", "line 2: field rules[0].path: is missing"),
        (b"rules:\n  - path: a\n", "line 2: field rules[0].strategy: is missing"),
        (b"rules:\n  - {path: a, strategy: base}\n  - 7\n", "line 3: field rules[1]: must be a"),
        (b"rules:\n  - {path: '', strategy: base}\n", "line 2: field rules[0].path: must be text"),
        (b"rules:\n  - {path: [a], strategy: base}\n", "field rules[0].path: must be text"),
        (b"rules:\n  - {path: a, strategy: best}\n", "field rules[0].strategy: unknown merge"),
        (b"rules:\n  - {path: a, strategy: base, key: [b]}\n", "field rules[0]: the strategy base"),
        (b"rules:\n  - {path: a, path: b, strategy: base}\n", "field rules[0].path: occurs twice"),
        (b"rules:\n  - {path: a, strategy: base, [x]: 1}\n", "the names of fields must be text"),
        (b"rules: &a []\nother: *a\n", "line 2: aliases are not allowed"),
        (b"rules:\n  - {path: a, strategy: \xff}\n", "line 2: the file is not UTF-8"),
        (b"[" * 5000, ""),
        (b"rules:\n  - {path: a, strategy: base, x: " + b"[" * 50 + b"]" * 50 + b"}\n", "nested"),
        (b"rules: " + b"[" * 100_000 + b"]" * 100_000, "line 1: a value is nested more than 20"),
        (b"rules: " + b"{a: " * 100_000, "line 1: a value is nested more than 20 levels deep"),
        (b"rules:\n  - {path: a, strategy: base, x: !!python/object:os.system {}}\n", "line 2"),
        (b"rules:\n  - {path: a, strategy: base, x: 2001-99-99}\n", "line 2"),
    ],
)
def test_invalid_files_are_refused_with_line_and_field(content, message):
    with pytest.raises(Invalid) as refused:
        parse_rules(content)
    assert refused.value.kind == "invalid_merge_rules"
    assert refused.value.message.startswith("_lakefs_merge.yaml, line ")
    assert message in refused.value.message
