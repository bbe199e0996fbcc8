"""Decoding of parameters and bodies, with lakeFS's messages for errors."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Meta

from anabranch.errors import Invalid
from anabranch.rest.protocol.body import Body
from anabranch.rest.protocol.call import Request
from anabranch.rest.protocol.decoding import BodyDecoder, ParamsDecoder
from anabranch.rest.protocol.parameters import HEADER, Amount, InRepository, ObjectPath


class Params(InRepository, frozen=True, kw_only=True):
    path: ObjectPath
    amount: Amount = 100
    flag: bool = False
    kind: Literal["one", "two"] = "one"
    many: tuple[str, ...] = ()
    matches: Annotated[str, HEADER, Meta(pattern="^a+$")] = msgspec.field(
        default="", name="If-Match"
    )


class Inner(Body, frozen=True):
    size: int = 0


class Named(Body, frozen=True):
    name: Annotated[str, Meta(pattern="^[a-z]+$")]
    keys: list[str] = msgspec.field(default_factory=list)
    labels: dict[str, str] = msgspec.field(default_factory=dict)
    inner: Inner = msgspec.field(default_factory=Inner)
    inners: list[Inner] | None = msgspec.field(default_factory=list)
    anything: object = None


PARAMS = ParamsDecoder(Params, {"s3": "repository"})
BODY = BodyDecoder(Named)


def params(query: str, **headers: str) -> Params:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return PARAMS.decode(Request({"s3": "sea"}, query, named))


def body(text: str | bytes, content_type: str = "application/json") -> Named:
    data = text.encode() if isinstance(text, str) else text
    return BODY.decode(Request({}, "", {"content-type": content_type}, body=data))


def test_parameters_are_decoded():
    assert params(
        "path=a%2Fb+c&amount=7&flag=true&kind=two&many=x&many=y,z&r=0.1", if_match="aaa"
    ) == Params(
        repository="sea",
        path="a/b c",
        amount=7,
        flag=True,
        kind="two",
        many=("x", "y,z"),
        matches="aaa",
    )


@pytest.mark.parametrize("query", ["path=a&path=b", "path=a&path=a", "path=a&path=", "path&path"])
def test_a_repeated_parameter_raises_invalid(query):
    with pytest.raises(Invalid) as caught:
        params(query)
    assert caught.value.message == (
        'parameter "path" in query has an error: value is given more than once'
    )


def test_a_repeated_parameter_that_is_unknown_is_ignored():
    assert params("path=a&other=1&other=2").path == "a"


@given(st.text(min_size=1).filter(lambda text: text.encode("utf-8", "ignore").decode() == text))
def test_percent_encoded_text_is_decoded(text):
    escaped = "".join(f"%{byte:02X}" for byte in text.encode())
    assert params(f"path={escaped}").path == text


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("", 'parameter "path" in query has an error: value is required but missing'),
        ("path=", 'parameter "path" in query has an error: empty value is not allowed'),
        ("path=x&flag=", 'parameter "flag" in query has an error: empty value is not allowed'),
        ("path=x&amount=", 'parameter "amount" in query has an error: empty value is not allowed'),
        ("path=%FF", 'parameter "path" in query has an error: value is not UTF-8'),
        (
            "path=x&amount=y",
            'parameter "amount" in query has an error: value y: an invalid integer: invalid syntax',
        ),
        (
            "path=x&amount=1001",
            'parameter "amount" in query has an error: number must be at most 1000',
        ),
        (
            "path=x&amount=-2",
            'parameter "amount" in query has an error: number must be at least -1',
        ),
        (
            "path=x&flag=no",
            'parameter "flag" in query has an error: value no: an invalid boolean: invalid syntax',
        ),
        (
            "path=x&kind=three",
            'parameter "kind" in query has an error: value is not one of the allowed values',
        ),
    ],
)
def test_an_invalid_parameter_raises_invalid_with_the_message_of_lakefs(query, message):
    with pytest.raises(Invalid) as caught:
        params(query)
    assert caught.value.message == message


def test_a_replacement_character_is_a_valid_value():
    assert params("path=%EF%BF%BD").path == "\N{REPLACEMENT CHARACTER}"


def test_an_invalid_header_raises_invalid():
    with pytest.raises(Invalid) as caught:
        params("path=x", if_match="b")
    assert caught.value.message == (
        'parameter "If-Match" in header has an error: '
        'string doesn\'t match the regular expression "^a+$"'
    )


def test_bodies_are_decoded():
    assert body('{"name":"a","anything":[{}]}', "application/json; charset=utf-8").name == "a"
    assert BodyDecoder(Inner, optional=True).decode(Request({}, "", {})) == Inner()


SCHEMA = "request body has an error: doesn't match schema #/components/schemas/Named: "


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "request body has an error: value is required but missing"),
        ("{}", SCHEMA + 'Error at "/name": property "name" is missing'),
        ("[]", SCHEMA + "value must be an object"),
        ('{"name":1}', SCHEMA + 'Error at "/name": value must be a string'),
        ('{"name":null}', SCHEMA + 'Error at "/name": Value is not nullable'),
        (
            '{"name":"A"}',
            SCHEMA + 'Error at "/name": string doesn\'t match the regular expression "^[a-z]+$"',
        ),
        ('{"name":"a","keys":[1]}', SCHEMA + 'Error at "/keys/0": value must be a string'),
        (
            '{"name":"a","inner":{"size":"x"}}',
            SCHEMA + 'Error at "/inner/size": value must be an integer',
        ),
    ],
)
def test_an_invalid_body_raises_invalid_with_the_message_of_lakefs(text, message):
    with pytest.raises(Invalid) as caught:
        body(text)
    assert caught.value.message == message


@pytest.mark.parametrize(
    ("text", "pointer", "hint"),
    [
        ('{"name":"a","nmae":1}', "/nmae", "Did you mean name?"),
        ('{"nmae":"a"}', "/nmae", "Did you mean name?"),
        ('{"name":"a","inner":{"siz":1}}', "/inner/siz", "Did you mean size?"),
        ('{"name":"a","inners":[{},{"sise":1}]}', "/inners/1/sise", "Did you mean size?"),
        ('{"name":"a","inner":{"x":1}}', "/inner/x", "The fields are size."),
        ('{"name":"a","inner":{"":1}}', "/inner/", "The fields are size."),
        ('{"name":"a","inner":{"` - at `$":1}}', "/inner/` - at `$", "The fields are size."),
    ],
)
def test_an_unknown_field_raises_invalid_with_the_nearest_name(text, pointer, hint):
    with pytest.raises(Invalid) as caught:
        body(text)
    name = pointer.rpartition("/")[2]
    assert caught.value.hint == hint
    assert caught.value.message == SCHEMA + (
        f'Error at "{pointer}": property "{name}" is unsupported'
    )


def test_the_name_of_an_unknown_field_is_shown_in_part():
    with pytest.raises(Invalid) as caught:
        body(f'{{"name":"a","{"x" * 100_000}":1}}')
    assert len(caught.value.message) < 1000


def test_a_body_type_that_would_accept_unknown_fields_raises_type_error():
    class Open(msgspec.Struct):
        size: int = 0

    for type_ in (Open, list[Open], dict[str, Open | None]):
        with pytest.raises(TypeError, match="Open accepts unknown fields"):
            BodyDecoder(type_)


@pytest.mark.parametrize(
    "data",
    [
        b"{",
        b"abc",
        b'{"name":"a"} {}',
        b'{"name":"\xff"}',
        b'{"name":"\\ud800"}',
        b"\xff\xfe",
        b'{"name":"a","anything":' + b"[" * 100_000,
    ],
    ids=lambda data: repr(data[:20]),
)
def test_malformed_json_raises_invalid(data):
    with pytest.raises(Invalid, match="failed to decode request body"):
        body(data)


def test_a_body_of_another_content_type_raises_invalid():
    with pytest.raises(Invalid) as caught:
        body('{"name":"a"}', "text/plain")
    assert caught.value.message == (
        'request body has an error: header Content-Type has unexpected value "text/plain"'
    )


@given(st.binary())
def test_decoding_random_bytes_returns_a_body_or_raises_invalid(data):
    try:
        decoded = body(data)
    except Invalid as error:
        result = error.message
    else:
        result = decoded
    assert isinstance(result, Named) or result.startswith("request body has an error: ")


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ('{"message": "m", "metadata": {"a": 1}}', "/metadata/a"),
        ('{"message": "m", "metadata": {"ok": "1", "a~/b": null}}', "/metadata/a~/b"),
        ('{"message": "m", "metadata": {"a": 1}, oh', "/metadata"),
        ('{"message": "m", "metadata": {"a": 1}, "metadata": 5}', "/metadata"),
        ('{"message": "m", "metadata": {"a": 1}, "metadata": {"b": "1"}}', "/metadata"),
        ('{"message": "m", "metadata": 5}', "/metadata"),
    ],
)
def test_the_key_of_an_invalid_map_value_is_named(api, repository, body, pointer):
    response = api.post(
        f"/repositories/{repository}/branches/main/commits",
        content=body,
        headers={"Content-Type": "application/json"},
    )
    assert response.status_code == 400
    assert f'Error at "{pointer}": ' in response.json()["message"]
