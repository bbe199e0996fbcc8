"""Calls of the API below the path of a repository."""

from __future__ import annotations

from typing import Any

__all__ = ["call"]


def call(repository: Any, method: str, path: str, body: Any = None, **params: Any) -> Any:
    """Returns the JSON of a successful response; None if it has none."""
    response = repository.api.request(
        method, f"{repository.path}/{path}", json=body, params=params or None
    )
    assert response.is_success, response.text
    is_json = response.headers.get("Content-Type", "").startswith("application/json")
    return response.json() if is_json else None
