"""Settings by which Spark has a reference of a repository as a catalog of Iceberg tables.

The files of tables are read and written through S3A, with the settings that `configure` makes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from anabranch.errors import Invalid
from anabranch.model.uri import SCHEME, parse_uri

__all__ = ["EXTENSIONS", "OF_ICEBERG", "RUNTIME", "catalog_settings", "iceberg_package"]
__all__ += ["reference_of", "session_catalog"]

RUNTIME = "iceberg-spark-runtime"
"""How the names of Iceberg's packages for Spark begin."""

_VERSION = "1.12.0"
"""The version with which this project is tested."""

EXTENSIONS = "spark.sql.extensions"
OF_ICEBERG = "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions"
_S3, _S3A = "fs.s3.impl", "org.apache.hadoop.fs.s3a.S3AFileSystem"
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def catalog_settings(
    catalogs: Mapping[str, str],
    endpoint: str,
    keys: tuple[str, str],
    existing: Mapping[str, object],
) -> dict[str, str]:
    """Returns the settings of catalogs, which are names in Spark and what they stand for, such as
    `sea/main`, on the server at `endpoint`. Extensions of Spark that are among the `existing`
    settings stay. Raises Invalid for a name that Spark does not take, and for an address that is no
    reference.
    """
    if not catalogs:
        return {}
    settings = {f"spark.hadoop.{_S3}": _S3A}
    for name, address in catalogs.items():
        if not _NAME.fullmatch(name):
            raise Invalid(
                f"{name!r} cannot name a catalog of Spark",
                kind="invalid_catalog",
                hint="Use letters, digits and underscores.",
            )
        settings |= _settings_of(name, address, endpoint, keys)
    given = str(existing.get(EXTENSIONS, ""))
    if OF_ICEBERG not in given.split(","):
        settings[EXTENSIONS] = ",".join(filter(None, (given, OF_ICEBERG)))
    return settings


def session_catalog(
    name: str, address: str, endpoint: str, keys: tuple[str, str]
) -> dict[str, str]:
    """Returns the settings of one catalog for a session that has begun, of which nothing else may
    be set. Raises Invalid as `catalog_settings`.
    """
    prefix = f"spark.sql.catalog.{name}"
    return {**_settings_of(name, address, endpoint, keys), f"{prefix}.hadoop.{_S3}": _S3A}


def _settings_of(name: str, address: str, endpoint: str, keys: tuple[str, str]) -> dict[str, str]:
    prefix = f"spark.sql.catalog.{name}"
    values = _catalog(_warehouse(address), endpoint.rstrip("/"), keys)
    return {
        prefix: "org.apache.iceberg.spark.SparkCatalog",
        **{f"{prefix}.{key}": value for key, value in values.items()},
    }


def iceberg_package(release: str) -> str:
    """Returns Iceberg's package for a release of Spark such as "4.1", as Maven names it."""
    scala = "2.12" if release.startswith("3.") else "2.13"  # which PySpark of that release has
    return f"org.apache.iceberg:{RUNTIME}-{release}_{scala}:{_VERSION}"


def _catalog(warehouse: str, endpoint: str, keys: tuple[str, str]) -> dict[str, str]:
    access_key_id, secret_access_key = keys
    return {
        "type": "rest",
        "uri": f"{endpoint}/iceberg",
        "warehouse": warehouse,
        # Spark hides settings with "password" in their name, and none with "credential"
        "rest.auth.type": "basic",
        "rest.auth.basic.username": access_key_id,
        "rest.auth.basic.password": secret_access_key,
        "io-impl": "org.apache.iceberg.hadoop.HadoopFileIO",
        # a merge changes tables without Spark's knowledge
        "cache-enabled": "false",
    }


def reference_of(address: str) -> str:
    """Returns the reference in the address of a catalog, such as `sea/main`. Raises Invalid."""
    return _warehouse(address).rstrip("/").rpartition("/")[2]


def _warehouse(address: str) -> str:
    text = address if "://" in address else f"{SCHEME}{address}"
    uri = parse_uri(text)
    if not uri.ref or uri.key:
        raise Invalid(
            f"{address!r} is no reference of a repository",
            kind="invalid_catalog",
            hint="Name a repository and a branch, tag or commit: sea/main.",
        )
    return str(uri)
