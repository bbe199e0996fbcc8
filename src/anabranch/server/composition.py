"""The composition: every object of a server, built once from its settings."""

from __future__ import annotations

import secrets
import time
from importlib.metadata import PackageNotFoundError, version

from anabranch.access.access import Access
from anabranch.access.credentials.credentials import KeyPair
from anabranch.access.identities.administrators import Logins
from anabranch.access.sessions.authenticate import AuthCacheSettings
from anabranch.audit.log import AuditLog
from anabranch.catalog.workspaces.unattended import parse_auto_merge
from anabranch.errors import AnabranchError
from anabranch.iceberg.gateway import IcebergGateway
from anabranch.iceberg.routes import ALL_OPERATIONS as ICEBERG_OPERATIONS
from anabranch.iceberg.routes import SIGN_IN, UNKNOWN
from anabranch.iceberg.services import Services as IcebergServices
from anabranch.keyvalue.contract import KeyValueStore
from anabranch.library import Lake
from anabranch.mcp.gateway import MCP_OPERATION
from anabranch.pipelines.queries.limits import QueryLimits
from anabranch.pipelines.queries.queries import Queries
from anabranch.pipelines.storage.storage import Storage
from anabranch.rest.gateway import RestGateway
from anabranch.rest.hook_authority import RestAuthority
from anabranch.rest.protocol.services import Services, Version
from anabranch.rest.routes import ALL_OPERATIONS
from anabranch.s3.gateway import S3Gateway
from anabranch.s3.services import Services as S3Services
from anabranch.server.config.settings import Settings
from anabranch.server.execution.batch_thread import BatchThread
from anabranch.server.execution.policy import StoreCapabilities
from anabranch.server.execution.thread_pool import ThreadPool
from anabranch.server.http.client_address import TrustedProxies
from anabranch.server.http.connection_limits import ConnectionLimits
from anabranch.server.http.dispatcher import Dispatcher, Executors
from anabranch.server.http.pages import Pages
from anabranch.server.installation.files import require_files, require_keys
from anabranch.server.installation.keys import with_keys
from anabranch.server.installation.mcp import open_mcp
from anabranch.server.installation.scim import open_scim
from anabranch.server.installation.shared_settings import require_shared_settings
from anabranch.server.installation.single_sign_on import (
    logout_url,
    open_aws_identities,
    open_single_sign_on,
)
from anabranch.server.installation.telemetry import open_telemetry
from anabranch.server.observability.audit_logs import audit_file, open_audit
from anabranch.server.observability.logs import level_of
from anabranch.server.observability.metrics import Metrics
from anabranch.server.observability.request_id import RequestIds
from anabranch.server.observability.request_log import RequestLog
from anabranch.server.observability.slow_log import SlowLog
from anabranch.server.observability.store_metrics import StoreCounters
from anabranch.server.stores.action_settings import action_settings
from anabranch.server.stores.block_stores import open_blocks, presigned_seconds
from anabranch.server.stores.keyvalue_stores import is_on_this_machine, open_keyvalue
from anabranch.server.stores.merge_webhooks import merge_webhook_guard
from anabranch.store_observer import UNOBSERVED, StoreObserver
from anabranch.versioning.merging.content_rights import NO_CONTENT
from anabranch.versioning.strategies.table_processes.limits import TableLimits
from anabranch.web.application import Application

__all__ = ["API_VERSION", "Composition", "own_version"]

API_VERSION = "1.84.0"
"""The version of lakeFS whose API this is; clients compare it with the version they require."""

_LOCAL = ("local", "mem")
"""Types of stores that never wait for another machine."""

CALL_THREADS, CALLS_WAITING = 64, 512
BATCHED_CALLS = 1024
TRANSFER_THREADS, TRANSFERS_WAITING = 64, 128


class Composition:
    """A server's objects. `dispatcher` handles requests, of those of the REST API `rest`; `limits`
    bounds its connections. `count_logs` are to be logged regularly.
    """

    def __init__(self, settings: Settings) -> None:
        proxies = TrustedProxies(settings.http.trusted_proxies)
        self.audit = open_audit(settings.audit)
        methods = {operation.id: operation.method for operation in ALL_OPERATIONS}
        methods |= {operation.id: operation.method for operation in ICEBERG_OPERATIONS}
        methods |= {MCP_OPERATION: "POST", SIGN_IN: "POST", UNKNOWN: "GET"}
        metrics = Metrics(methods)
        settings, keyvalue = _open_installation(settings, metrics.stores)
        self._settings = settings
        self.lake = Lake(
            keyvalue,
            open_blocks(settings.blockstore, _observer(settings.blockstore.type, metrics.stores)),
            cache_folder=settings.committed.local_cache.dir,
            cache_bytes=settings.committed.local_cache.size_bytes,
            signing_secret=settings.blockstore.signing.secret_key.reveal().encode(),
            presigned_seconds=presigned_seconds(settings.blockstore),
            require_linked_objects=settings.blockstore.require_linked_objects,
            images_namespace=settings.images.storage_namespace,
            action_settings=action_settings(settings.actions),
            merge_webhook_guard=merge_webhook_guard(settings.merges.webhook),
            table_limits=TableLimits(
                seconds=float(settings.merges.timeout),
                memory_bytes=settings.merges.memory_bytes,
            ),
            default_rights=NO_CONTENT,
            undo_days=settings.operations.undo_days,
        )
        self.services = _services(settings, keyvalue, self.lake, self.audit)
        metrics.hooks = self.lake.engine
        slow_log = SlowLog(settings.logging.slow_requests)
        self._telemetry = open_telemetry(settings.telemetry)
        self.lake.engine.deliveries = self._telemetry
        http = settings.http
        self._pool = ThreadPool(
            "call",
            threads=http.call_threads or CALL_THREADS,
            waiting=CALLS_WAITING,
            observer=metrics,
        )
        self._transfers = ThreadPool(
            "transfer",
            threads=http.transfer_threads or TRANSFER_THREADS,
            waiting=TRANSFERS_WAITING,
            observer=metrics,
        )
        self._batch_thread = BatchThread("batch", max_calls=BATCHED_CALLS)
        rest = self.rest = RestGateway(self.services)
        self.lake.hook_lakes.authority = RestAuthority(rest, self.services.access, self.lake.images)
        self.dispatcher = Dispatcher(
            rest,
            S3Gateway(_s3_services(settings, self.services)),
            Pages(Application(), metrics=metrics.text),
            Executors(self._pool, self._transfers, self._batch_thread),
            StoreCapabilities(
                local_keyvalue=is_on_this_machine(settings.database),
                local_blocks=settings.blockstore.type in _LOCAL,
                may_begin_twice=self.audit is None,
            ),
            metrics=metrics,
            request_ids=RequestIds(secrets.token_hex(8)),
            request_log=RequestLog(level_of(settings.logging.audit_log_level)),
            slow_log=slow_log,
            usage=self.lake.usage,
            telemetry=self._telemetry,
            optional=[
                IcebergGateway(_iceberg_services(settings, self.services)),
                *(
                    each
                    for each in (
                        open_scim(settings.auth, keyvalue, self.services.access, self.audit),
                        open_mcp(settings.mcp, rest, self.services),
                    )
                    if each is not None
                ),
            ],
        )

        self.limits = ConnectionLimits(
            head_timeout=http.head_timeout,
            max_connections=http.max_connections,
            max_per_address=http.max_connections_per_address,
            proxies=proxies,
            count=metrics.connection_ended,
        )
        self.count_logs = (*self.limits.logs, *metrics.logs, slow_log.others)

    def start(self) -> None:
        """Creates the administrator that the settings name, and starts the periodic tasks."""
        administrator = self._settings.installation
        if administrator.user_name:
            pair = KeyPair(administrator.access_key_id, administrator.secret_access_key)
            self.services.access.setup.ensure(administrator.user_name, pair)
        self.services.access.setup.ensure_defaults()
        self.lake.start()
        self.lake.sender.start()

    def close(self) -> None:
        """Finishes running work and closes the stores."""
        self._transfers.close()
        self._pool.close()
        self._batch_thread.close()
        self.lake.close()
        if self._telemetry is not None:
            self._telemetry.close()
        if self.audit is not None:
            self.audit.close()


def _services(
    settings: Settings, keyvalue: KeyValueStore, lake: Lake, audit: AuditLog | None
) -> Services:
    cache = settings.auth.cache
    access = Access(
        lake.core.keyvalue,
        settings.auth.encrypt.secret_key,
        other_key=settings.auth.encrypt.other_secret_key,
        login_duration=settings.auth.login_duration,
        cache_settings=AuthCacheSettings(
            size=cache.size, lifetime=cache.ttl if cache.enabled else 0
        ),
        failed_logins=settings.auth.failed_logins.limit,
        lock_seconds=settings.auth.failed_logins.lock,
        logins=Logins(
            single_sign_on=settings.auth.oidc.enabled,
            aws=settings.auth.external_aws_auth.enabled,
        ),
    )
    return Services(
        catalog=lake,
        imports=lake.imports,
        builds=lake.builds,
        branch_tasks=lake.branch_tasks,
        queries=Queries(
            lake,
            QueryLimits(
                seconds=float(settings.queries.timeout),
                memory_bytes=settings.queries.memory_bytes,
                processes=settings.queries.processes,
            ),
        ),
        storage=Storage(lake.core, lake.blocks),
        purges=lake.purges,
        access=access,
        version=Version(API_VERSION, own_version()),
        clock=time.time,
        presign_endpoint=settings.blockstore.local.pre_signed_endpoint,
        logout_url=logout_url(settings.auth),
        documentation_url=str(settings.pages.documentation_url),
        auto_merge=parse_auto_merge(settings.workspaces.auto_merge),
        audit=audit,
        audit_file=audit_file(settings.audit),
        single_sign_on=open_single_sign_on(settings.auth, keyvalue, access),
        aws_identities=open_aws_identities(settings.auth, time.time),
    )


def _s3_services(settings: Settings, services: Services) -> S3Services:
    return S3Services(
        catalog=services.catalog,
        access=services.access,
        clock=services.clock,
        domains=settings.gateways.s3.domain_name,
        region=settings.gateways.s3.region,
        namespace_prefix=settings.blockstore.default_namespace_prefix,
        cors=settings.gateways.s3.cors,
        audit=services.audit,
    )


def _iceberg_services(settings: Settings, services: Services) -> IcebergServices:
    return IcebergServices(
        catalog=services.catalog,
        access=services.access,
        clock=services.clock,
        region=settings.gateways.s3.region,
        audit=services.audit,
    )


def _observer(store: str, counters: StoreCounters) -> StoreObserver:
    """Returns the observer of a store; stores on this machine send no requests."""
    return counters.of(store) if store not in _LOCAL else UNOBSERVED


def _open_installation(
    settings: Settings, counters: StoreCounters
) -> tuple[Settings, KeyValueStore]:
    """Returns the settings with all keys, and the key-value store. Raises Corrupt if the database
    or a key of an installation is lost, and Invalid if the settings differ from those of other
    servers on the database.
    """
    require_files(settings)
    # created before the keys: keys without a database mean that the database was lost
    keyvalue = open_keyvalue(settings.database, _observer(settings.database.type, counters))
    try:
        require_keys(settings, keyvalue)
        settings = with_keys(settings, secrets.token_bytes)
        require_shared_settings(settings, keyvalue, secrets.token_bytes)
    except AnabranchError:
        keyvalue.close()
        raise
    return settings, keyvalue


def own_version() -> str:
    """Returns the version of this program, `0` if it is not installed."""
    try:
        return version("anabranch")
    except PackageNotFoundError:
        return "0"
