import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.errors import Invalid
from anabranch.model.references.expression import MAX_COUNT, Expression, Modifier, parse_expression

NAMES = [
    "main",
    "dev:joe-bugfix-1234",
    "dev:jane-before-v2.3-merge",
    "v1.0",
    "-odd",
    "_",
    "a:b:c.d-e",
    "zweig-ü-🌿",
    "0" * 64,
    "deadbeef",
    "100%25",
    "{x}",
]


@pytest.mark.parametrize("name", NAMES)
def test_bare_name_is_base(name):
    assert parse_expression(name) == Expression(name)


@pytest.mark.parametrize(
    ("text", "modifiers"),
    [
        ("main~", [("~", 1)]),
        ("main^", [("^", 1)]),
        ("main~0", [("~", 0)]),
        ("main^0", [("^", 0)]),
        ("main~2^2", [("~", 2), ("^", 2)]),
        ("HEAD^^^", [("^", 1), ("^", 1), ("^", 1)]),
        ("A^3^2", [("^", 3), ("^", 2)]),
        ("main~~~5^", [("~", 1), ("~", 1), ("~", 5), ("^", 1)]),
        ("main~007", [("~", 7)]),
        ("main~000", [("~", 0)]),
    ],
)
def test_modifiers_are_parsed_in_order(text, modifiers):
    parsed = parse_expression(text)
    assert [(modifier.symbol, modifier.count) for modifier in parsed.modifiers] == modifiers
    assert parsed.view == ""
    assert str(parsed) == text


@pytest.mark.parametrize("symbol", ["@", "$"])
@pytest.mark.parametrize("name", NAMES)
def test_view_symbols_are_parsed(name, symbol):
    parsed = parse_expression(name + symbol)
    assert parsed == Expression(name, view=symbol)
    assert str(parsed) == name + symbol


@pytest.mark.parametrize(
    "text",
    [
        "",
        "~",
        "^",
        "@",
        "$",
        "~1",
        "^main",
        "@{1}",
        "main~x",
        "main~1x",
        "main^-1",
        "main~+1",
        "main~-0",
        "main~1.5",
        "main~ 1",
        "main~²",
        "main~٣",
        "main~1_000",
        "main^{}",
        "main^{commit}",
        "main@1",
        "main$1",
        "main@@",
        "main$$",
        "main@$",
        "main@~1",
        "main~1@",
        "main$^",
        "main^$",
        "main@{1",
        "ma in",
        "main\t",
        "\nmain",
        " ",
    ],
)
def test_malformed_expression_is_invalid(text):
    with pytest.raises(Invalid) as caught:
        parse_expression(text)
    assert caught.value.kind == "invalid_reference"
    assert caught.value.hint
    assert caught.value.message.endswith("invalid value: validation error")


@pytest.mark.parametrize("digits", [str(MAX_COUNT), "9" * 19, "9" * 1_000_000])
def test_huge_counts_are_capped(digits):
    parsed = parse_expression(f"main~{digits}")
    assert parsed.modifiers[0].count == MAX_COUNT
    assert str(parsed) == f"main~{digits}"


def test_counts_below_cap_are_exact():
    assert parse_expression(f"main~{MAX_COUNT - 1}").modifiers[0].count == MAX_COUNT - 1
    assert parse_expression("main~" + "0" * 100 + "12").modifiers[0].count == 12


def test_error_shortens_long_text():
    with pytest.raises(Invalid) as caught:
        parse_expression("main~" + "x" * 1_000_000)
    assert len(caught.value.message) < 500


@given(st.text(alphabet="ab:.-~^@$012 ", max_size=12))
def test_parsed_expression_preserves_text(text):
    try:
        parsed = parse_expression(text)
    except Invalid:
        return
    assert str(parsed) == text
    assert parse_expression(str(parsed)) == parsed


@given(
    st.text(st.characters(exclude_characters="~^@$ \t\n\r\f\v"), min_size=1),
    st.lists(st.tuples(st.sampled_from("~^"), st.from_regex(r"[0-9]{0,6}", fullmatch=True))),
)
def test_generated_expressions_parse_as_built(base, steps):
    built = Expression(base, tuple(Modifier(symbol, digits) for symbol, digits in steps))
    assert parse_expression(str(built)) == built
