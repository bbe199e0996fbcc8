"""The option `store` of the format `anabranch`: the object store that tasks read tables from.

`store` is the kind of the store, and the options `store_…` are its parameters, such as
`store_region` for the parameter `region` of `S3Store`.
"""

from __future__ import annotations

from typing import Any

from anabranch.errors import Invalid
from anabranch.spark.sources.stores import AzureStore, GoogleStore, Opener, S3Store

__all__ = ["STORE_OPTIONS", "pop_store"]

_KINDS = {
    "s3": (
        S3Store,
        (
            *("endpoint", "region", "access_key_id", "secret_access_key", "session_token"),
            *("profile", "credentials_file", "path_style"),
        ),
    ),
    "google": (GoogleStore, ("credentials_json", "endpoint")),
    "azure": (AzureStore, ("account", "access_key", "endpoint")),
}
_BOOLEANS = {"true": True, "false": False}

STORE_OPTIONS = (
    "store",
    *dict.fromkeys(f"store_{name}" for _, names in _KINDS.values() for name in names),
)


def pop_store(remaining: dict[str, str], default: Opener | None) -> Opener | None:
    """Removes the options of the store and returns the store, or the default without options.
    Raises Invalid.
    """
    given = {name: remaining.pop(name) for name in STORE_OPTIONS if name in remaining}
    if not given:
        return default
    kind = given.pop("store", "")
    if kind not in _KINDS:
        raise Invalid(f"store: {kind}: must be one of {', '.join(_KINDS)}")
    store, names = _KINDS[kind]
    if unknown := sorted(given.keys() - {f"store_{name}" for name in names}):
        raise Invalid(f"{', '.join(unknown)}: not an option of the store {kind}")
    parameters: dict[str, Any] = {
        name.removeprefix("store_"): _parse(name, text) for name, text in given.items()
    }
    opener: Opener = store(**parameters)
    return opener


def _parse(name: str, text: str) -> str | bool:
    if name != "store_path_style":
        return text
    if text.lower() not in _BOOLEANS:
        raise Invalid(f"{name}: {text}: must be true or false")
    return _BOOLEANS[text.lower()]
