"""The libraries by the names that scripts require."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from importlib.resources import files
from typing import Any

from anabranch.actions.hooks.contract import HookContext

__all__ = ["Libraries"]

_PACKAGE = "anabranch.actions.hooks.lua.libraries"

_LIBRARIES = {
    "aws": ("aws_clients", "aws"),
    "azure": ("azure_client", "azure"),
    "crypto/aes": ("crypto", "aes"),
    "crypto/hmac": ("crypto", "hmac"),
    "crypto/md5": ("crypto", "md5"),
    "crypto/sha1": ("crypto", "sha1"),
    "crypto/sha256": ("crypto", "sha256"),
    "databricks": ("databricks_client", "databricks"),
    "encoding/base64": ("encodings", "base64"),
    "encoding/hex": ("encodings", "hex"),
    "encoding/json": ("documents", "json"),
    "encoding/parquet": ("parquet_files", "parquet"),
    "encoding/xml": ("documents", "xml"),
    "encoding/yaml": ("documents", "yaml"),
    "encoding/z85": ("encodings", "z85"),
    "encoding/z85enc": ("encodings", "z85"),
    "formats": ("delta_tables", "formats"),
    "lakefs": ("lakefs_client", "lakefs"),
    "net/http": ("http_client", "http"),
    "net/url": ("paths", "url"),
    "path": ("paths", "path"),
    "regexp": ("regular_expressions", "regexp"),
    "strings": ("texts", "strings"),
    "time": ("times", "time"),
    "uuid": ("encodings", "uuid"),
}
"""Modules and names of functions that make a library for a run."""

_SCRIPTS = "catalogexport"
_SCRIPT_PREFIX = "lakefs/catalogexport/"
_SCRIPT_NAMES = frozenset(
    (
        *("delta_exporter", "glue_exporter", "hive", "internal", "symlink_exporter"),
        *("table_extractor", "unity_exporter"),
    )
)
"""Libraries that are written in Lua, in the folder of that name."""


class Libraries:
    """The libraries of one run."""

    def __init__(self, context: HookContext) -> None:
        self._context = context

    def open(self, name: str) -> Mapping[str, Any] | bytes | None:
        """Returns a library, None if there is none of that name."""
        script = name.removeprefix(_SCRIPT_PREFIX)
        if script != name and script in _SCRIPT_NAMES:
            return files(_PACKAGE).joinpath(_SCRIPTS, f"{script}.lua").read_bytes()
        if name not in _LIBRARIES:
            return None
        module, function = _LIBRARIES[name]
        make: Callable[[HookContext], Mapping[str, Any]]
        make = getattr(import_module(f"{_PACKAGE}.{module}"), function)
        return make(self._context)
