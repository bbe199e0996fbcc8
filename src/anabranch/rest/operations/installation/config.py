"""Configuration of the server and of its store, as far as clients need it."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

from anabranch.access.policies.permissions import Action
from anabranch.blocks.contract import StorageConfig as ModelStorageConfig
from anabranch.http.execution import Execution
from anabranch.rest.protocol.call import Call
from anabranch.rest.protocol.operation import Access, Need, Operation
from anabranch.rest.protocol.resources import on_anything
from anabranch.rest.protocol.services import Version

__all__ = ["OPERATIONS"]

GRACE_PERIOD_SECONDS = 86400


class StorageConfig(msgspec.Struct, frozen=True, kw_only=True):
    """lakeFS's StorageConfig, with its odd capital."""

    blockstore_namespace_example: str
    namespace_validity_regex: str = msgspec.field(name="blockstore_namespace_ValidityRegex")
    blockstore_type: str
    default_namespace_prefix: str | UnsetType = UNSET
    import_support: bool
    import_validity_regex: str
    pre_sign_multipart_upload: bool | UnsetType = UNSET
    pre_sign_support: bool
    pre_sign_support_ui: bool


class VersionConfig(msgspec.Struct, frozen=True):
    """lakeFS's version and our own. Clients warn of an unknown `version_context`."""

    anabranch_version: str
    version: str
    version_context: str


class UIConfig(msgspec.Struct, frozen=True):
    """Configuration of the web pages: where the documentation is, if a setting says so."""

    custom_viewers: list[dict[str, Any]] | UnsetType = UNSET
    documentation_url: str | UnsetType = UNSET


class Config(msgspec.Struct, frozen=True):
    """The complete configuration."""

    capabilities_config: dict[str, Any]
    storage_config: StorageConfig
    storage_config_list: list[StorageConfig]
    ui_config: UIConfig
    version_config: VersionConfig


class GarbageCollectionConfig(msgspec.Struct, frozen=True):
    """Time in seconds for which new objects are not collected."""

    grace_period: int


def get_config(call: Call[None, None]) -> Config:
    """Returns the complete configuration."""
    return Config(
        capabilities_config={},
        storage_config=_storage(call.services.catalog.config()),
        storage_config_list=[],
        ui_config=UIConfig(documentation_url=call.services.documentation_url or UNSET),
        version_config=_version(call.services.version),
    )


def get_version(call: Call[None, None]) -> VersionConfig:
    """Returns the version."""
    return _version(call.services.version)


def get_storage_config(call: Call[None, None]) -> StorageConfig:
    """Returns the configuration of the store."""
    return _storage(call.services.catalog.config())


def get_garbage_collection_config(_: Call[None, None]) -> GarbageCollectionConfig:
    """Returns the configuration of garbage collection."""
    return GarbageCollectionConfig(GRACE_PERIOD_SECONDS)


def _version(version: Version) -> VersionConfig:
    return VersionConfig(
        anabranch_version=version.anabranch,
        version=version.version,
        version_context=version.context,
    )


def _storage(config: ModelStorageConfig) -> StorageConfig:
    return StorageConfig(
        blockstore_namespace_example=config.blockstore_namespace_example,
        namespace_validity_regex=config.namespace_validity_regex,
        blockstore_type=config.blockstore_type,
        default_namespace_prefix=config.default_namespace_prefix or UNSET,
        import_support=config.import_support,
        import_validity_regex=config.import_validity_regex,
        pre_sign_multipart_upload=config.pre_sign_multipart_upload,
        pre_sign_support=config.pre_sign_support,
        pre_sign_support_ui=config.pre_sign_support_ui,
    )


OPERATIONS = (
    Operation(
        id="getConfig",
        tag="config",
        method="GET",
        path="/config",
        summary="retrieve lakeFS configuration",
        permission=Access.ANY_USER,
        response=Config,
        execution=Execution.INLINE,
        handler=get_config,
    ),
    Operation(
        id="getLakeFSVersion",
        tag="internal",
        method="GET",
        path="/config/version",
        summary="get version of lakeFS server",
        permission=Access.ANY_USER,
        response=VersionConfig,
        execution=Execution.INLINE,
        handler=get_version,
    ),
    Operation(
        id="getStorageConfig",
        tag="internal",
        method="GET",
        path="/config/storage",
        summary="retrieve lakeFS storage configuration",
        permission=(Need(Action.READ_CONFIG, on_anything),),
        response=StorageConfig,
        execution=Execution.INLINE,
        handler=get_storage_config,
    ),
    Operation(
        id="getGarbageCollectionConfig",
        tag="internal",
        method="GET",
        path="/config/garbage-collection",
        summary="get information of gc settings",
        permission=Access.ANY_USER,
        response=GarbageCollectionConfig,
        execution=Execution.INLINE,
        handler=get_garbage_collection_config,
    ),
)
