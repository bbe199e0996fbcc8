"""Headers that confine a page in the browser.

The policy of the application allows scripts, styles and requests of this server only, and nothing
inline: a script that a user's content brings into the page is not run, and one that ran could send
nothing elsewhere. The only frames are those whose content the page itself writes. A second policy,
which must allow as well, limits scripts, styles and workers to the application's own files: objects
are of the same server, and none of these.
"""

from __future__ import annotations

import base64
import hashlib

__all__ = ["APPLICATION", "confined_page", "style_hash"]

_DIRECTIVES = (
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data: blob:",
    "font-src 'self'",
    "connect-src 'self'",
    "worker-src 'self'",
    "manifest-src 'self'",
    "frame-ancestors 'none'",
    "base-uri 'none'",
    "form-action 'self'",
)

_ASSETS = "*:*/assets/"
"""URLs of this folder on any host, of which the first policy allows this server's."""

_OWN_FILES = "; ".join(f"{kind} {_ASSETS}" for kind in ("script-src", "style-src", "worker-src"))

_COMMON = (
    ("X-Content-Type-Options", "nosniff"),
    ("X-Frame-Options", "DENY"),
    ("Referrer-Policy", "same-origin"),
    ("Cross-Origin-Opener-Policy", "same-origin"),
    ("Cross-Origin-Resource-Policy", "same-origin"),
    ("Permissions-Policy", "camera=(), geolocation=(), microphone=(), payment=(), usb=()"),
)

APPLICATION = (
    ("Content-Security-Policy", f"{'; '.join(_DIRECTIVES)}, {_OWN_FILES}"),
    *_COMMON,
)
"""Headers of all files of the application. Its workers obey those of their own scripts."""


def confined_page(style: str = "") -> tuple[tuple[str, str], ...]:
    """Returns the headers of a page that loads nothing; `style` is the content of its one style
    element.
    """
    allowed = f"; style-src {style_hash(style)}" if style else ""
    policy = f"default-src 'none'{allowed}; frame-ancestors 'none'; base-uri 'none'"
    return (("Content-Security-Policy", f"{policy}; form-action 'none'"), *_COMMON)


def style_hash(style: str) -> str:
    """Returns the source expression that allows one style element by its content (CSP level 2)."""
    digest = hashlib.sha256(style.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"
