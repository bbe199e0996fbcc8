"""Whether the libraries that merge tables are installed. They are imported by processes only."""

from __future__ import annotations

from importlib.util import find_spec

from anabranch.errors import NotSupported

__all__ = ["require_installed"]

_TITLES = {"duckdb": "DuckDB"}


def require_installed(purpose: str, *modules: str) -> None:
    """Raises NotSupported (kind library_missing) if a module is not installed. `purpose` names what
    needs them.
    """
    if any(find_spec(module) is None for module in modules):
        titles = [_TITLES.get(module, module) for module in modules]
        raise NotSupported(
            f"{purpose} needs {' and '.join(titles)}",
            kind="library_missing",
            hint="Install it on the server: pip install 'anabranch[merge]'",
        )
