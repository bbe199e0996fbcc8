"""The output of one run of a hook: text of limited length without secrets."""

from __future__ import annotations

__all__ = ["MAX_OUTPUT_BYTES", "HookOutput"]

MAX_OUTPUT_BYTES = 1 << 20
_REDACTED = "***"


class HookOutput:
    """Collects what a hook writes: at most `limit` bytes of UTF-8, then a line that says so.

    Secrets that are announced by `conceal` are replaced by `***`, also where several calls of
    `write` put them together.
    """

    def __init__(self, limit: int = MAX_OUTPUT_BYTES) -> None:
        self.limit = limit
        self._pieces: list[str] = []
        self._size = 0
        self._is_cut = False
        self._secrets: set[str] = set()

    def write(self, text: str) -> None:
        """Appends text; once the limit is reached, it is dropped."""
        if self._is_cut:
            return
        encoded = text.encode("utf-8", "replace")
        room = self.limit - self._size
        if len(encoded) > room:
            encoded, self._is_cut = encoded[:room], True
        self._pieces.append(encoded.decode("utf-8", "ignore"))
        self._size += len(encoded)

    def conceal(self, secret: str) -> None:
        """Makes the output leave out a secret."""
        if secret:
            self._secrets.add(secret)

    def redact(self, text: str) -> str:
        """Returns a text, such as an error message, without the secrets."""
        for secret in sorted(self._secrets, key=len, reverse=True):
            text = text.replace(secret, _REDACTED)
        return text

    def text(self) -> str:
        """Returns the output."""
        text = self.redact("".join(self._pieces))
        if not self._is_cut:
            return text
        while begun := self._begun_secret(text):
            text = text[:-begun]
        return f"{text}\n[the output is longer than {self.limit} bytes; the rest is left out]\n"

    def _begun_secret(self, text: str) -> int:
        """Returns how many characters at the end of a text are the beginning of a secret."""
        begun = (
            length
            for secret in self._secrets
            for length in range(min(len(secret) - 1, len(text)), 0, -1)
            if text.endswith(secret[:length])
        )
        return max(begun, default=0)
