"""Conditions of hooks: the field `if` of an action file.

    condition  = and { ("||" | "or") and }
    and        = negation { ("&&" | "and") negation }
    negation   = ("!" | "not") negation | comparison
    comparison = value [operator value]
    operator   = "==" | "!=" | "<" | "<=" | ">" | ">=" | ["not"] "in"
               | "contains" | "startsWith" | "endsWith"
    value      = "(" condition ")" | text | number | "true" | "false" | status "()" | field
               | "commit_metadata" "[" value "]" | "[" [value {"," value}] "]"
    status     = "success" | "failure" | "always"

A text is in double or single quotes. A field is one of FIELDS; `commit_metadata["key"]` is empty
without the key. The names and operators are those of lakeFS's expressions. All types are known when
a condition is parsed, so that no evaluation fails.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import Any, Literal, NamedTuple, NoReturn

import msgspec

from anabranch.errors import Invalid

__all__ = ["AFTER_SUCCESS", "FIELDS", "Condition", "Situation", "parse_condition"]

FIELDS = (
    "event_type",
    "action_name",
    "hook_id",
    "repository_id",
    "branch_id",
    "source_ref",
    "tag_id",
    "commit_id",
    "commit_message",
    "committer",
    "merge_source",
)
"""The fields of the event that conditions can read; those that an event does not have are empty."""

_METADATA = "commit_metadata"
_MAX_LENGTH = 4096
_MAX_DEPTH = 50
_TOKEN = re.compile(
    r"""\s*(?:(?P<text>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')"""
    r"""|(?P<number>\d+(?:\.\d+)?)|(?P<name>[A-Za-z_]\w*)"""
    r"""|(?P<sign>\|\||&&|==|!=|<=|>=|[<>!()\[\],]))""",
    re.ASCII | re.DOTALL,
)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r"}
_HINT = "For example: failure() && branch_id startsWith 'release-'"


class Situation(NamedTuple):
    """What a condition is evaluated in: whether an earlier hook of the action has failed, and the
    fields and the commit's metadata of the event.
    """

    failed: bool
    fields: Mapping[str, str]
    metadata: Mapping[str, str]


_Type = Literal["truth", "text", "number", "list of texts", "list of numbers", "metadata", "list"]


class _Typed(NamedTuple):
    """A part of a condition, of a type."""

    type: _Type
    value: Callable[[Situation], Any]


class Condition(msgspec.Struct, frozen=True):
    """A parsed condition."""

    text: str
    evaluate: Callable[[Situation], bool]
    """Returns whether the condition holds."""


@lru_cache(1024)
def parse_condition(text: str) -> Condition:
    """Returns the condition. Raises Invalid (kind invalid_condition) with the position in the text
    that is wrong.
    """
    parsed = _Parser(text).parse()
    return Condition(text, parsed.value)


class _Token(NamedTuple):
    kind: str
    text: str
    at: int


class _Parser:
    def __init__(self, text: str) -> None:
        self._text = text
        self._depth = 0
        if len(text) > _MAX_LENGTH:
            self._fail(0, f"is longer than {_MAX_LENGTH} characters")
        self._tokens = list(self._split())
        self._next = 0

    def parse(self) -> _Typed:
        parsed = self._or()
        token = self._peek()
        if token.kind != "end":
            self._fail(token.at, f"{token.text!r} is not expected")
        self._require(parsed, "truth", 0)
        return parsed

    def _split(self) -> Iterator[_Token]:
        at = 0
        while at < len(self._text.rstrip()):
            match = _TOKEN.match(self._text, at)
            if match is None:
                start = at + len(self._text[at:]) - len(self._text[at:].lstrip())
                self._fail(start, f"{self._text[start]!r} is not expected")
            kind = str(match.lastgroup)
            yield _Token(kind, match[kind], match.start(kind))
            at = match.end()
        yield _Token("end", "the end", len(self._text))

    def _or(self) -> _Typed:
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            self._fail(self._peek().at, "is nested too deeply")
        parsed = self._and()
        while self._take("||", "or"):
            parsed = self._both(parsed, self._and(), lambda left, right: left or right)
        self._depth -= 1
        return parsed

    def _and(self) -> _Typed:
        parsed = self._negation()
        while self._take("&&", "and"):
            parsed = self._both(parsed, self._negation(), lambda left, right: left and right)
        return parsed

    def _both(self, left: _Typed, right: _Typed, join: Callable[[bool, bool], bool]) -> _Typed:
        at = self._tokens[self._next - 1].at
        self._require(left, "truth", at)
        self._require(right, "truth", at)
        return _Typed("truth", lambda seen: join(left.value(seen), right.value(seen)))

    def _negation(self) -> _Typed:
        negations = 0
        at = self._peek().at
        while self._take("!", "not"):
            negations += 1
        parsed = self._comparison()
        if not negations:
            return parsed
        self._require(parsed, "truth", at)
        return _Typed("truth", lambda seen: parsed.value(seen) is (negations % 2 == 0))

    def _comparison(self) -> _Typed:
        left = self._value()
        token = self._peek()
        if token.text in _COMPARISONS and token.kind in {"sign", "name"}:
            self._next += 1
            return self._compare(token, left, self._value())
        if token.text == "not" and self._tokens[self._next + 1].text == "in":
            self._next += 2
            found = self._compare(token._replace(text="in"), left, self._value())
            return _Typed("truth", lambda seen: not found.value(seen))
        return left

    def _compare(self, token: _Token, left: _Typed, right: _Typed) -> _Typed:
        compare = _COMPARISONS[token.text]
        if (left.type, right.type) not in _OPERANDS[token.text]:
            self._fail(
                token.at, f"`{token.text}` does not compare a {left.type} and a {right.type}"
            )
        return _Typed("truth", lambda seen: compare(left.value(seen), right.value(seen)))

    def _value(self) -> _Typed:
        token = self._peek()
        self._next += 1
        if token.kind == "text":
            text = re.sub(r"\\(.)", _unescape, token.text[1:-1], flags=re.DOTALL)
            return _Typed("text", lambda _: text)
        if token.kind == "number":
            number = float(token.text)
            return _Typed("number", lambda _: number)
        if token.kind == "name":
            return self._name_value(token)
        if token.text == "(":
            parsed = self._or()
            self._expect(")")
            return parsed
        if token.text == "[":
            return self._list(token)
        return self._fail(token.at, f"a value is expected, not {token.text!r}")

    def _name_value(self, token: _Token) -> _Typed:
        name = token.text
        if name in {"true", "false"}:
            return _Typed("truth", lambda _: name == "true")
        if name in _STATUSES:
            self._expect("(")
            self._expect(")")
            return _Typed("truth", _STATUSES[name])
        if name == _METADATA:
            return self._metadata(token)
        if name in FIELDS:
            return _Typed("text", lambda seen: seen.fields.get(name, ""))
        known = ", ".join([*FIELDS, _METADATA, *(f"{status}()" for status in _STATUSES)])
        return self._fail(token.at, f"{name!r} is unknown", f"Known are {known}.")

    def _metadata(self, token: _Token) -> _Typed:
        if not self._take("["):
            return _Typed("metadata", lambda seen: seen.metadata)
        key = self._value()
        self._require(key, "text", token.at)
        self._expect("]")
        return _Typed("text", lambda seen: seen.metadata.get(key.value(seen), ""))

    def _list(self, token: _Token) -> _Typed:
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            self._fail(token.at, "is nested too deeply")
        items: list[_Typed] = []
        while not self._take("]"):
            if items:
                self._expect(",")
            items.append(self._value())
        self._depth -= 1
        types = {item.type for item in items}
        if not types:
            return _Typed("list", lambda _: ())
        for kind, name in _LISTS.items():
            if types == {kind}:
                return _Typed(name, lambda seen: [item.value(seen) for item in items])
        return self._fail(token.at, "a list has texts alone or numbers alone")

    def _peek(self) -> _Token:
        return self._tokens[self._next]

    def _take(self, *texts: str) -> bool:
        token = self._peek()
        taken = token.text in texts and token.kind in {"sign", "name"}
        self._next += taken
        return taken

    def _expect(self, text: str) -> None:
        if not self._take(text):
            token = self._peek()
            self._fail(token.at, f"{text!r} is expected, not {token.text!r}")

    def _require(self, parsed: _Typed, kind: _Type, at: int) -> None:
        if parsed.type != kind:
            self._fail(at, f"a {kind} is expected, not a {parsed.type}")

    def _fail(self, at: int, reason: str, hint: str = _HINT) -> NoReturn:
        raise Invalid(
            f"the condition {self._text[:200]!r}, character {at + 1}: {reason}",
            kind="invalid_condition",
            hint=hint,
        )


def _unescape(match: re.Match[str]) -> str:
    return _ESCAPES.get(match[1], match[1])


def _is_in(item: Any, container: Any) -> bool:
    return item in container


_COMPARISONS: Mapping[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "in": _is_in,
    "contains": operator.contains,
    "startsWith": str.startswith,
    "endsWith": str.endswith,
}
_ORDERED: set[tuple[_Type, _Type]] = {("text", "text"), ("number", "number")}
_EQUAL: set[tuple[_Type, _Type]] = {*_ORDERED, ("truth", "truth")}
_TEXTS: set[tuple[_Type, _Type]] = {("text", "text")}
_CONTAINED: set[tuple[_Type, _Type]] = {
    ("text", "list of texts"),
    ("number", "list of numbers"),
    ("text", "metadata"),
    ("text", "list"),
    ("number", "list"),
}
_OPERANDS: Mapping[str, set[tuple[_Type, _Type]]] = {
    "==": _EQUAL,
    "!=": _EQUAL,
    **dict.fromkeys(("<", "<=", ">", ">="), _ORDERED),
    "in": _CONTAINED,
    "contains": _TEXTS,
    "startsWith": _TEXTS,
    "endsWith": _TEXTS,
}
_LISTS: Mapping[_Type, _Type] = {"text": "list of texts", "number": "list of numbers"}
_STATUSES: Mapping[str, Callable[[Situation], bool]] = {
    "success": lambda seen: not seen.failed,
    "failure": lambda seen: seen.failed,
    "always": lambda _: True,
}

AFTER_SUCCESS = parse_condition("success()")
"""The condition of a hook that has none."""
