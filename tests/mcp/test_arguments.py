"""Whatever arguments a client sends, they are those of the schema or are refused."""

from __future__ import annotations

import jsonschema
import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.session.hypothesis_profiles import examples

from anabranch.errors import Invalid
from anabranch.mcp.tools.table import READING, WRITING

TOOLS = (*READING, *WRITING)
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=20),
    st.sampled_from(["main", "branches", "utf-8", "2h", "open"]),
)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner)
)


def validator(tool):
    return jsonschema.Draft202012Validator(tool.schema)


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_schemas_are_schemas(tool):
    jsonschema.Draft202012Validator.check_schema(tool.schema)
    assert "$ref" not in str(tool.schema)


@settings(max_examples=examples(400))
@given(data=st.data())
def test_arguments_are_taken_exactly_if_the_schema_has_them(data):
    tool = data.draw(st.sampled_from(TOOLS))
    names = [*tool.schema["properties"], "other"]
    arguments = data.draw(st.dictionaries(st.sampled_from(names), VALUES, max_size=len(names)))
    if validator(tool).is_valid(arguments) and not has_float(arguments):
        assert msgspec.to_builtins(tool.decode(arguments)).items() >= arguments.items()
    elif not validator(tool).is_valid(arguments):
        with pytest.raises(Invalid) as refused:
            tool.decode(arguments)
        assert refused.value.kind == "invalid_arguments"
        assert refused.value.hint


def has_float(arguments):
    """Whether a number may be one that JSON Schema takes for an integer, such as 1.0."""
    return any(isinstance(each, float) for each in arguments.values())
