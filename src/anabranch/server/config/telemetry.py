"""Settings of OpenTelemetry."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from anabranch.server.config.types import PageUrl, SettingDoc, SettingsGroup

__all__ = ["Telemetry", "telemetry_problems"]

_PERCENT = "telemetry.traced_percent"
_ALL = 100


class Telemetry(SettingsGroup, frozen=True, kw_only=True):
    """Traces and metrics for OpenTelemetry."""

    endpoint: Annotated[
        PageUrl,
        SettingDoc(
            "Address of an OpenTelemetry collector that takes OTLP over HTTP, such as "
            "`http://collector:4318`; none: nothing is sent; needs the extra `otel`"
        ),
    ] = PageUrl("")
    traced_percent: Annotated[
        int,
        SettingDoc(
            "How many of a hundred requests are traced, of those whose client does not say whether"
        ),
    ] = _ALL
    service_name: Annotated[
        str, SettingDoc("Name of the service in traces and metrics (`service.name`)")
    ] = "anabranch"


def telemetry_problems(values: Mapping[str, Any], places: Mapping[str, str]) -> list[str]:
    """Returns what is wrong with the given settings of OpenTelemetry."""
    if values.get(_PERCENT, 0) <= _ALL:
        return []
    return [f"{places[_PERCENT]} is more than {_ALL}"]
