"""Secret texts, which printing, formatting and logging do not show."""

from __future__ import annotations

import hmac

__all__ = ["Secret"]


class Secret:
    """Keeps a text out of logs, errors and representations; only `reveal` returns it.

    Secrets are compared in constant time. A Secret is not a string, so a message that includes one
    by mistake shows the mask.
    """

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def reveal(self) -> str:
        """Returns the text."""
        return self._text

    def __repr__(self) -> str:
        return "Secret('***')" if self._text else "Secret('')"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Secret):
            return NotImplemented
        return hmac.compare_digest(_bytes(self._text), _bytes(other._text))

    def __hash__(self) -> int:
        return hash((Secret, self._text))

    def __bool__(self) -> bool:
        return bool(self._text)


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
