"""Secrets of hooks: `{{ ENV.LAKEFSACTION_NAME }}` in a property is a variable of the server's
environment. Other variables cannot be used, and the settings say which action files may use these.
The values are kept out of the output, in the forms that requests and responses may have them; this
protects against accidents, not against the authors of action files.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, quote_plus

from anabranch.actions.hooks.contract import HookContext
from anabranch.actions.hooks.properties import Properties
from anabranch.errors import HookFailed

__all__ = ["PREFIX", "check_names", "hook_environment", "reveal"]

PREFIX = "LAKEFSACTION_"
"""The prefix of the variables that hooks may use; it is lakeFS's."""

_REFERENCE = re.compile(r"\{\{ *ENV\.([^{} ]*) *\}\}")
_MAX_DEPTH = 32
_MAX_CHARACTERS = 1 << 20
"""The most characters of a hook's texts once their references are replaced."""


def check_names(properties: Properties, name: str, value: object) -> None:
    """Raises Invalid if the value of a property names a variable that hooks may not use, or is
    nested too deep.
    """
    for text in _texts(properties, name, value, 0):
        for variable in _REFERENCE.findall(text):
            if not variable.startswith(PREFIX):
                raise properties.invalid(
                    name,
                    f"hooks cannot use the variable {variable!r}",
                    f"The names of variables that hooks may use begin with {PREFIX}.",
                )


def reveal(value: Any, context: HookContext) -> Any:
    """Returns a value in which references are replaced by their variables, also in lists and
    mappings. Raises HookFailed, with the name of the variable, if one is not set or may not be
    used, and if the texts become too long.
    """
    return _Expansion(context).of(value)


class _Expansion:
    """The replacement of the references in one value, whose texts have a limited length."""

    def __init__(self, context: HookContext) -> None:
        self._context = context
        self._rest = _MAX_CHARACTERS

    def of(self, value: Any) -> Any:
        if isinstance(value, str):
            text = _REFERENCE.sub(self._replace, value)
            self._take(len(value))
            return text
        if isinstance(value, Mapping):
            return {key: self.of(item) for key, item in value.items()}
        if isinstance(value, list):
            return [self.of(item) for item in value]
        return value

    def _replace(self, reference: re.Match[str]) -> str:
        variable = _variable(reference[1], self._context)
        self._take(len(variable))
        return variable

    def _take(self, characters: int) -> None:
        self._rest -= characters
        if self._rest < 0:
            raise HookFailed(
                f"its properties have more than {_MAX_CHARACTERS} characters once the variables "
                "that they name are replaced",
                hint="Name fewer or shorter variables.",
            )


def hook_environment(context: HookContext) -> dict[str, str]:
    """Returns the variables that hooks may use; none if the settings forbid it for this one. Their
    values are kept out of the output.
    """
    if not context.settings.environment_enabled:
        return {}
    try:
        _require_variables(context)
    except HookFailed:
        return {}
    found = {name: value for name, value in context.environment.items() if name.startswith(PREFIX)}
    for value in found.values():
        _conceal(value, context)
    return found


def _variable(name: str, context: HookContext) -> str:
    if not context.settings.environment_enabled:
        raise HookFailed(
            f"the server's settings do not let hooks use variables, such as {name}",
            hint="Set actions.env.enabled.",
        )
    _require_variables(context)
    value = context.environment.get(name) if name.startswith(PREFIX) else None
    if value is None:
        raise HookFailed(
            f"the variable {name} is not set in the server's environment",
            hint="Set it where the server is started.",
        )
    _conceal(value, context)
    return value


def _require_variables(context: HookContext) -> None:
    if context.code is not None:
        context.code.require_variables()


def _conceal(secret: str, context: HookContext) -> None:
    """Keeps a secret out of the output in the forms that requests and responses may have it."""
    for form in (secret, json.dumps(secret)[1:-1], quote(secret, safe=""), quote_plus(secret)):
        context.output.conceal(form)


def _texts(properties: Properties, name: str, value: object, depth: int) -> list[str]:
    if depth > _MAX_DEPTH:
        raise properties.invalid(name, f"is nested more than {_MAX_DEPTH} levels deep")
    if isinstance(value, str):
        return [value]
    items = list(value.values()) if isinstance(value, Mapping) else value
    if not isinstance(items, list):
        return []
    return [text for item in items for text in _texts(properties, name, item, depth + 1)]
