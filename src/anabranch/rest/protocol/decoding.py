"""Decodes the parameters and the body of a request, with lakeFS's messages for errors.

lakeFS validates requests with kin-openapi, and clients display its messages; the first line of our
messages follows them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Generic, TypeVar
from urllib.parse import unquote_to_bytes

import msgspec
from falcon.uri import parse_query_string

from anabranch.converter import Converter
from anabranch.errors import Invalid
from anabranch.rest.protocol.body import UnknownFields
from anabranch.rest.protocol.call import Request
from anabranch.rest.protocol.parameters import Location, Parameter, declared_parameters
from anabranch.rest.protocol.segments import read_segment

__all__ = ["BodyDecoder", "ParamsDecoder"]

T = TypeVar("T")

_MISSING = re.compile(r"Object missing required field `(.+?)`(?: - at `(.+)`)?")
_WITH_PATH = re.compile(r"(.*) - at `(.+)`", re.DOTALL)
_TYPE = re.compile(r"Expected `(?P<wanted>[^`]+)`, got `(?P<got>[^`]+)`")
_EMPTY = "Expected `str` of length >= 1"
_ANY_KEY = "[...]"
"""The placeholder of msgspec for the key of a map."""

_LOOKUP_ERRORS = (
    # the rest of the body is invalid JSON
    *(msgspec.DecodeError, UnicodeDecodeError, RecursionError),
    # a key is repeated
    *(LookupError, AttributeError, ValueError, TypeError, StopIteration),
)
"""Errors of looking up a key in an invalid body."""

_REPLACEMENT = "\N{REPLACEMENT CHARACTER}"

_TYPE_MESSAGES = {
    "str": "value must be a string",
    "int": "value must be an integer",
    "bool": "value must be a boolean",
    "object": "value must be an object",
    "array": "value must be an array",
}

_PARSED_TYPES = {"bool": "boolean", "int": "integer"}
"""Types of parameters that are parsed from text."""

_REASONS = tuple(
    (re.compile(pattern, re.DOTALL), message)
    for pattern, message in (
        (r"Expected `\w+` <= (\S+)", "number must be at most {}"),
        (r"Expected `\w+` >= (\S+)", "number must be at least {}"),
        (
            r"Expected `\w+` matching regex '(.*)'",
            'string doesn\'t match the regular expression "{}"',
        ),
        (r"Expected `str` of length >= (\d+)", "minimum string length is {}"),
        (r"Expected `str` of length <= (\d+)", "maximum string length is {}"),
        (r"Expected `array` of length >= (\d+)", "minimum number of items is {}"),
        (r"Invalid enum value .*", "value is not one of the allowed values"),
    )
)


class ParamsDecoder(Generic[T]):
    """Decodes the parameters of one operation into its struct. `names` maps the router's names of
    path parameters to those of the API.
    """

    def __init__(self, struct: type[T], names: Mapping[str, str]) -> None:
        self._converter = Converter(struct, strict=False)
        self._names = tuple(names.items())
        parameters = declared_parameters(struct, frozenset(names.values()))
        self._by_name = {parameter.name: parameter for parameter in parameters}
        self._headers = tuple(
            (parameter.name, parameter.name.lower())
            for parameter in parameters
            if parameter.location is Location.HEADER
        )
        self._query = frozenset(
            parameter.name for parameter in parameters if parameter.location is Location.QUERY
        )
        self._lists = frozenset(parameter.name for parameter in parameters if parameter.is_list)
        self._empty_is_absent = frozenset(
            parameter.name for parameter in parameters if parameter.empty_is_absent
        )

    def decode(self, request: Request) -> T:
        """Returns the parameters; raises Invalid."""
        segments = request.segments
        values: dict[str, Any] = {}
        for segment, name in self._names:
            text = segments[segment]
            values[name] = read_segment(name, text) if "%" in text else text
        if self._query and request.query:
            self._add_query(values, request.query)
        for name, key in self._headers:
            text = request.header(key)
            if text:
                values[name] = text
        try:
            return self._converter.convert(values)
        except msgspec.ValidationError as error:
            raise self._to_invalid(str(error), values) from None

    def _add_query(self, values: dict[str, Any], query: str) -> None:
        for name, value in parse_query_string(query, keep_blank=True).items():
            if name not in self._query:
                continue
            if name in self._lists:
                values[name] = [value] if isinstance(value, str) else value
            else:
                if not isinstance(value, str):
                    reason = "value is given more than once"
                    raise _invalid_parameter(self._by_name[name], reason)
                text = value
                if not text and name in self._empty_is_absent:
                    continue
                values[name] = text
            if _REPLACEMENT in str(value) and not _is_utf8(query):
                raise _invalid_parameter(self._by_name[name], "value is not UTF-8")

    def _to_invalid(self, message: str, values: Mapping[str, Any]) -> Invalid:
        missing = _MISSING.fullmatch(message)
        if missing is not None:
            name, reason = missing[1], "value is required but missing"
        else:
            located = _WITH_PATH.fullmatch(message)
            text, path = (located[1], located[2]) if located else (message, "$.")
            name = path.removeprefix("$.").partition("[")[0]
            reason = _reason_of_value(text, values[name])
        return _invalid_parameter(self._by_name[name], reason)


class BodyDecoder(Generic[T]):
    """Decodes the JSON body of one operation. A missing `optional` body is an empty object.

    Raises TypeError for a type that would accept unknown fields.
    """

    def __init__(self, type_: type[T], *, optional: bool = False) -> None:
        self._name = getattr(type_, "__name__", "")
        self._optional = optional
        self._unknown_fields = UnknownFields(type_)
        self._decode: Callable[[bytes], T] = msgspec.json.Decoder(type_).decode

    def decode(self, request: Request) -> T:
        """Returns the body; raises Invalid."""
        data = request.body
        if not data:
            if not self._optional:
                raise self._invalid("value is required but missing")
            data = b"{}"
        else:
            media_type = request.header("content-type").partition(";")[0].strip().lower()
            if media_type != "application/json":
                raise self._invalid(f'header Content-Type has unexpected value "{media_type}"')
        try:
            return self._decode(data)
        except msgspec.ValidationError as error:
            raise self._to_invalid(str(error), data) from None
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise self._invalid(f"failed to decode request body: {error}") from None

    def _to_invalid(self, message: str, data: bytes) -> Invalid:
        hint = None
        missing, unknown = _MISSING.fullmatch(message), self._unknown_fields.describe(message)
        if unknown is not None:
            path, reason, hint = unknown
        elif missing is not None:
            field, path = missing[1], f"{missing[2] or '$'}.{missing[1]}"
            reason = f'property "{field}" is missing'
        else:
            located = _WITH_PATH.fullmatch(message)
            text, path = (located[1], located[2]) if located else (message, "$")
            reason = _reason(text)
        names = re.sub(r"[.\[]", "/", path.removeprefix("$").replace(_ANY_KEY, "[*]"))
        pointer = _with_key(names.replace("]", ""), data)
        at = f'Error at "{pointer}": ' if pointer else ""
        schema = f"doesn't match schema #/components/schemas/{self._name}: " if self._name else ""
        return self._invalid(f"{schema}{at}{reason}", hint)

    def _invalid(self, reason: str, hint: str | None = None) -> Invalid:
        return Invalid(f"request body has an error: {reason}", kind="invalid_body", hint=hint)


def _with_key(pointer: str, data: bytes) -> str:
    """Returns a pointer with `*` replaced by the key of the invalid value in a map, which msgspec
    does not report. All maps of the API have strings as values.
    """
    before, star, _ = pointer.partition("/*")
    if not star:
        return pointer
    try:
        value = msgspec.json.decode(data)
        for name in before.split("/")[1:]:
            value = value[int(name)] if isinstance(value, list) else value[name]
        key = next(key for key, text in value.items() if not isinstance(text, str))
    except _LOOKUP_ERRORS:
        return before
    return f"{before}/{key}"


def _reason(text: str) -> str:
    """Returns kin-openapi's message for an error of msgspec."""
    wrong_type = _TYPE.match(text)
    if wrong_type is not None:
        if wrong_type["got"] == "null":
            return "Value is not nullable"
        wanted = wrong_type["wanted"].partition(" | ")[0]
        return _TYPE_MESSAGES.get(wanted, text)
    for pattern, message in _REASONS:
        match = pattern.fullmatch(text)
        if match is not None:
            return message.format(*match.groups())
    return text


def _reason_of_value(text: str, value: object) -> str:
    """Returns kin-openapi's message for an error of msgspec about the value of a parameter."""
    wrong_type = _TYPE.match(text)
    wanted = _PARSED_TYPES.get(wrong_type["wanted"]) if wrong_type is not None else None
    if text == _EMPTY or (wanted and not value):
        return "empty value is not allowed"
    return f"value {value}: an invalid {wanted}: invalid syntax" if wanted else _reason(text)


def _invalid_parameter(parameter: Parameter, reason: str) -> Invalid:
    return Invalid(
        f'parameter "{parameter.name}" in {parameter.location.value} has an error: {reason}',
        kind="invalid_parameter",
    )


def _is_utf8(query: str) -> bool:
    try:
        unquote_to_bytes(query.encode("latin-1")).decode()
    except UnicodeDecodeError:
        return False
    return True
