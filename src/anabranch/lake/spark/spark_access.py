"""How Spark reaches the lake of a server, with the keys that the lake was connected with."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, TypeAlias

from anabranch.errors import Invalid
from anabranch.lake.spark.catalogs import reference_of
from anabranch.lake.spark.s3a import configure, settings_for
from anabranch.model.secret import Secret

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["Catalogs", "SparkAccess"]

Catalogs: TypeAlias = "Mapping[str, str] | Iterable[str]"
"""References of repositories as catalogs of Spark: `{"lake": "sea/main"}`, or `["sea/main"]`, which
is named after its branch.
"""


class SparkAccess:
    """Settings of Spark for one server: S3A for its objects, catalogs for its Iceberg tables."""

    def __init__(self, url: str, keys: tuple[str, Secret] | None) -> None:
        self._url = url
        self._keys = keys

    def configure(
        self,
        builder: SparkSession.Builder,
        catalogs: Catalogs = (),
        *,
        repositories: Iterable[str] = (),
        packages: Iterable[str] = (),
    ) -> SparkSession.Builder:
        """Adds the settings to the builder of a session, as `anabranch.spark.configure` does, and
        returns it. Raises Invalid for a lake that was connected without an access key, and for a
        name or an address that makes no catalog.
        """
        return configure(
            *(builder, self._url, self._known_keys()),
            repositories=repositories,
            packages=packages,
            catalogs=named_catalogs(catalogs),
        )

    def settings(
        self,
        catalogs: Catalogs = (),
        *,
        repositories: Iterable[str] = (),
        packages: Iterable[str] = (),
    ) -> dict[str, str]:
        """Returns the settings of a new session, for `spark-submit --conf`, `spark-defaults.conf`
        or a cluster's page. The secret key is among them. Raises Invalid as `configure`.
        """
        return settings_for(
            *(self._url, self._known_keys()),
            repositories=repositories,
            packages=packages,
            catalogs=named_catalogs(catalogs),
        )

    def _known_keys(self) -> tuple[str, str]:
        if self._keys is None:
            raise Invalid(
                "Spark needs an access key, and the lake was connected with a token",
                kind="no_access_key",
                hint="anabranch.connect(url, access_key_id, secret_access_key)",
            )
        name, secret = self._keys
        return name, secret.reveal()


def named_catalogs(catalogs: Catalogs) -> dict[str, str]:
    """Returns catalogs by their names in Spark. Raises Invalid for two of one name."""
    if isinstance(catalogs, Mapping):
        return dict(catalogs)
    if isinstance(catalogs, str):
        catalogs = [catalogs]
    named: dict[str, str] = {}
    for address in catalogs:
        name = re.sub(r"[^A-Za-z0-9_]", "_", reference_of(address))
        name = name if not name[:1].isdigit() else f"_{name}"
        if name in named:
            raise Invalid(
                f"{named[name]} and {address} are both called {name}",
                kind="invalid_catalog",
                hint=f"Give the names: {{'{name}': '{named[name]}', …}}.",
            )
        named[name] = address
    return named
