"""A text that must not be seen: nothing that prints, formats or logs it shows it."""

from __future__ import annotations

import hmac

__all__ = ["Secret"]


class Secret:
    """Keeps a text out of logs, errors and representations; `reveal` is the one way to it.

    Comparing takes the same time wherever two secrets differ. A Secret is not a string, so that
    putting one into a message by mistake shows the mask.
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
