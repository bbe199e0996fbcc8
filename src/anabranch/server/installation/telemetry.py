"""OpenTelemetry as the settings configure it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anabranch import __version__
from anabranch.errors import Invalid
from anabranch.server.config.telemetry import Telemetry

if TYPE_CHECKING:
    from anabranch.server.observability.telemetry import OpenTelemetry

__all__ = ["open_telemetry"]


def open_telemetry(settings: Telemetry) -> OpenTelemetry | None:
    """Returns what sends traces and metrics, None without an endpoint. Raises Invalid (kind
    extra_missing) if OpenTelemetry is not installed.
    """
    if not settings.endpoint:
        return None
    try:
        from anabranch.server.observability.telemetry import (  # noqa: PLC0415  an extra
            OpenTelemetry,
        )
    except ModuleNotFoundError as error:
        if not (error.name or "").startswith("opentelemetry"):
            raise
        raise Invalid(
            "telemetry.endpoint needs an extra that is not installed",
            kind="extra_missing",
            hint="pip install 'anabranch[otel]'",
        ) from None
    return OpenTelemetry(settings, __version__)
