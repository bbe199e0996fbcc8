"""Names that stand for ids, addresses and times in recorded histories of requests.

A history is recorded on one server and played on another, whose ids are others. In its texts a new
commit id of the response to operation 7 is `{commit:7}`, a second one there `{commit:7b}`; likewise
`{address:7}`, `{etag:7}` and, where trees differ from server to server, `{metarange:7}`.
`{repo}` is the repository, `{store}` the scheme of its namespace, `{commit:7:12}` the first 12
digits of an id, `{now}` a time within two hours of now, `{run}` a hook's run. A name that nothing
was given is an id of `e`s.
"""

from __future__ import annotations

import re
import string
import time
from collections.abc import Callable, Mapping
from email.utils import parsedate_to_datetime

__all__ = ["Names"]

_NAME = re.compile(r"\{(repo|store|commit:\d+[a-z]?(?::\d+)?|etag:\d+[a-z]?)\}")
_ID = re.compile(r"(?<![0-9a-f])[0-9a-f]{64}(?![0-9a-f])")
_ADDRESS = re.compile(r"data/[0-9a-v]{20}/[0-9a-v]{20}(?:,[\w-]+)?")
_RUN = re.compile(r"(run id '?)[0-9a-v]{20}")
_NAMESPACE = re.compile(r"(?:mem|local|s3)://(?:[^\s\"{]*/)?\{repo\}")
_NOW_SECONDS = 7200
_ID_LENGTH = 64


class Names:
    """The names of one history, as far as it is played, for one server.

    `store` is the scheme of storage namespaces; `trees_agree` says that the ids of trees are
    compared as they are.
    """

    def __init__(self, repository: str, store: str, *, trees_agree: bool) -> None:
        self._repository = repository
        self._store = store
        self._trees_agree = trees_agree
        self._values: dict[str, str] = {}
        self._names: dict[str, str] = {}
        self._short: dict[str, str] = {}

    def resolve(self, text: str) -> str:
        """Returns a text of a request with what its names stand for."""
        return _NAME.sub(self._value, text)

    def resolve_all(self, value: object) -> object:
        """Returns a value of JSON with all texts, keys included, resolved."""
        return _mapped(value, lambda text, _field: self.resolve(text))

    def replace(self, text: str, operation: int, field: str) -> str:
        """Returns a text of the response to an operation with names in place of ids; `field` is
        the name of the field or header that holds it.
        """
        text = text.replace(self._repository, "{repo}")
        text = _NAMESPACE.sub("{store}://{repo}", text)
        text = _ADDRESS.sub(lambda found: self._name("address", operation, found[0]), text)
        text = _RUN.sub(r"\1{run}", text)
        text = _ID.sub(lambda found: self._name_of_id(found[0], operation, field), text)
        for value, name in self._short.items():
            text = text.replace(value, name)
        if field == "last-modified" and _is_now(parsedate_to_datetime(text).timestamp()):
            return "{now}"
        return text

    def replace_all(self, value: object, operation: int) -> object:
        """Returns a value of JSON with names in place of all ids and times of now."""
        return _mapped(value, lambda text, field: self.replace(text, operation, field))

    def _value(self, found: re.Match[str]) -> str:
        kind, *rest = found[1].split(":")
        if kind == "repo":
            return self._repository
        if kind == "store":
            return self._store
        value = self._values.get(f"{kind}:{rest[0]}")
        length = int(rest[1]) if rest[1:] else _ID_LENGTH
        if value is None:
            return "e" * length
        if rest[1:]:
            self._short[value[:length]] = found[0]
        return value[:length]

    def _name_of_id(self, value: str, operation: int, field: str) -> str:
        if len(set(value)) == 1:
            return value
        if "range" in field:
            return value if self._trees_agree else self._name("metarange", operation, value)
        return self._name("etag" if field == "etag" else "commit", operation, value)

    def _name(self, kind: str, operation: int, value: str) -> str:
        if value not in self._names:
            first = f"{kind}:{operation}"
            names = (first, *(first + letter for letter in string.ascii_lowercase[1:]))
            name = next(name for name in names if name not in self._values)
            self._values[name] = value
            self._names[value] = f"{{{name}}}"
        return self._names[value]


def _mapped(value: object, change: Callable[[str, str], str], field: str = "") -> object:
    if isinstance(value, str):
        return change(value, field)
    if isinstance(value, Mapping):
        return {change(key, ""): _mapped(held, change, key) for key, held in value.items()}
    if isinstance(value, list):
        return [_mapped(held, change, field) for held in value]
    return "{now}" if type(value) is int and _is_now(value) else value


def _is_now(moment: float) -> bool:
    return abs(moment - time.time()) < _NOW_SECONDS
