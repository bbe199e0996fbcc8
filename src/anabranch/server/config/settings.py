"""The settings of a server, as frozen structs: names, types, defaults and descriptions.

A setting is named by its path (`blockstore.local.path`); settings that lakeFS has too have lakeFS's
names. docs/settings.md is generated from the descriptions in `SettingDoc`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from anabranch.model.references.operation import DEFAULT_UNDO_DAYS
from anabranch.model.secret import Secret
from anabranch.server.config.actions import Actions
from anabranch.server.config.aws import AwsLogins
from anabranch.server.config.blockstore import Blockstore
from anabranch.server.config.mcp import ModelContextProtocol
from anabranch.server.config.merges import Merges
from anabranch.server.config.oidc import OpenIDConnect
from anabranch.server.config.pages import Pages
from anabranch.server.config.scim import Scim
from anabranch.server.config.telemetry import Telemetry
from anabranch.server.config.types import Address, Seconds, SettingDoc, SettingsGroup
from anabranch.server.config.workspaces import WorkspaceSettings

__all__ = ["Address", "Seconds", "SettingDoc", "Settings"]


class LocalDatabase(SettingsGroup, frozen=True, kw_only=True):
    """The embedded key-value store."""

    path: Annotated[
        Path, SettingDoc("Folder of the embedded key-value store", under_data="metadata")
    ] = Path()


class PostgresDatabase(SettingsGroup, frozen=True, kw_only=True):
    """The key-value store that several machines share."""

    connection_string: Annotated[
        Secret,
        SettingDoc(
            "URL of PostgreSQL: `postgres://user:password@host:5432/database?sslmode=require`"
        ),
    ] = Secret("")
    max_open_connections: Annotated[
        int, SettingDoc("Maximum number of connections to PostgreSQL of each process")
    ] = 25
    max_idle_connections: Annotated[
        int, SettingDoc("Maximum number of idle connections that a process keeps")
    ] = 25
    connection_max_lifetime: Annotated[
        Seconds, SettingDoc("Time after which a connection is replaced; `0`: never")
    ] = Seconds(300)


class Database(SettingsGroup, frozen=True, kw_only=True):
    """The key-value store of references and staging areas."""

    type: Annotated[
        Literal["local", "mem", "postgres"],
        SettingDoc(
            "Key-value store: `local` is SQLite in a folder, `mem` is lost when the server stops, "
            "`postgres` is shared by several machines"
        ),
    ] = "local"
    local: LocalDatabase = LocalDatabase()
    postgres: PostgresDatabase = PostgresDatabase()


class Encrypt(SettingsGroup, frozen=True, kw_only=True):
    """The key of the installation."""

    secret_key: Annotated[
        Secret,
        SettingDoc(
            "Encrypts secret access keys and signs login tokens; a change locks all users out",
            under_data="keys/encrypt",
            shared=True,
            instead="auth.encrypt.other_secret_key",
        ),
    ] = Secret("")
    other_secret_key: Annotated[
        Secret,
        SettingDoc("While the key is rotated: the earlier or later one, which is accepted as well"),
    ] = Secret("")


class AuthCache(SettingsGroup, frozen=True, kw_only=True):
    """The cache of authenticated users."""

    enabled: Annotated[bool, SettingDoc("Whether verified credentials are cached")] = True
    size: Annotated[int, SettingDoc("Maximum number of cached credentials")] = 1024
    ttl: Annotated[
        Seconds,
        SettingDoc(
            "How long credentials are cached. A revoked key works for two seconds at most; for so "
            "long only on a server that cannot read the database"
        ),
    ] = Seconds(20)


class FailedLogins(SettingsGroup, frozen=True, kw_only=True):
    """Throttling of failed logins."""

    limit: Annotated[
        int,
        SettingDoc(
            "Wrong secrets for an access key from one address, within a minute, after which the "
            "key is locked for that address; `0`: no limit"
        ),
    ] = 10
    lock: Annotated[
        Seconds, SettingDoc("How long it is locked; twice as long each time, up to 15 minutes")
    ] = Seconds(30)


class Auth(SettingsGroup, frozen=True, kw_only=True):
    """Authentication."""

    encrypt: Encrypt = Encrypt()
    cache: AuthCache = AuthCache()
    failed_logins: FailedLogins = FailedLogins()
    login_duration: Annotated[Seconds, SettingDoc("How long a login lasts")] = Seconds(168 * 3600)
    logout_redirect_url: Annotated[
        str, SettingDoc("URL to which browsers are redirected after logging out")
    ] = "/auth/login"
    oidc: OpenIDConnect = OpenIDConnect()
    external_aws_auth: AwsLogins = AwsLogins()
    scim: Scim = Scim()


class S3Gateway(SettingsGroup, frozen=True, kw_only=True):
    """The S3 gateway."""

    domain_name: Annotated[
        tuple[str, ...],
        SettingDoc("Host names of this server to which S3 clients prepend bucket names"),
    ] = ("s3.local.lakefs.io",)
    region: Annotated[str, SettingDoc("Region that is reported to S3 clients")] = "us-east-1"
    cors: Annotated[
        tuple[str, ...],
        SettingDoc(
            "Origins of web pages that may send requests to the S3 gateway, such as "
            "`https://app.example.com` or `https://*.example.com`; `*`: any origin"
        ),
    ] = ()


class Gateways(SettingsGroup, frozen=True, kw_only=True):
    """Gateways other than the REST API."""

    s3: S3Gateway = S3Gateway()


class Installation(SettingsGroup, frozen=True, kw_only=True):
    """The administrator of a new installation; all three settings or none."""

    user_name: Annotated[
        str, SettingDoc("Name of the administrator, who is created if the installation has none")
    ] = ""
    access_key_id: Annotated[str, SettingDoc("The administrator's access key")] = ""
    secret_access_key: Annotated[Secret, SettingDoc("The administrator's secret access key")] = (
        Secret("")
    )


class Http(SettingsGroup, frozen=True, kw_only=True):
    """Connections of clients."""

    head_timeout: Annotated[
        Seconds,
        SettingDoc("Time limit for the head of a request, from its first to its last byte"),
    ] = Seconds(10)
    max_connections: Annotated[
        int,
        SettingDoc(
            "Maximum number of connections of each process; the longest idle one is closed for a "
            "new one; `0`: three quarters of the files that the process may open"
        ),
    ] = 0
    max_connections_per_address: Annotated[
        int,
        SettingDoc(
            "Maximum number of connections of each process from one address or one /64 network of "
            "IPv6; `0`: half of `http.max_connections`"
        ),
    ] = 0
    call_threads: Annotated[
        int,
        SettingDoc(
            "Threads of each process for requests, of which one user has at most three quarters; "
            "`0`: 64"
        ),
    ] = 0
    transfer_threads: Annotated[
        int,
        SettingDoc(
            "Threads of each process for uploads of more than 128 KiB, of which one user has at "
            "most three quarters; `0`: 64"
        ),
    ] = 0
    trusted_proxies: Annotated[
        tuple[str, ...],
        SettingDoc(
            "Addresses and networks of proxies, whose connections are not limited by address, and "
            "whose `X-Forwarded-Proto` and `X-Forwarded-For` are trusted"
        ),
    ] = ()


class Logging(SettingsGroup, frozen=True, kw_only=True):
    """The server's log, on standard error."""

    level: Annotated[
        Literal["TRACE", "DEBUG", "INFO", "WARN", "ERROR", "NONE"],
        SettingDoc("Minimum level of logged events"),
    ] = "INFO"
    format: Annotated[
        Literal["text", "json"], SettingDoc("`text` for people, `json` for programs")
    ] = "text"
    audit_log_level: Annotated[
        Literal["TRACE", "DEBUG", "INFO", "WARN", "ERROR", "NONE"],
        SettingDoc("Level of the log lines of requests, which have operation, status and duration"),
    ] = "DEBUG"
    slow_requests: Annotated[
        Seconds,
        SettingDoc(
            "Requests that take so long, the time of slow clients left out, are logged with what "
            "they waited for; `0`: none"
        ),
    ] = Seconds(5)


class Audit(SettingsGroup, frozen=True, kw_only=True):
    """The audit log."""

    file: Annotated[
        str,
        SettingDoc(
            "File of the audit log; `-`: standard output. Without this and `audit.syslog`, there "
            "is no audit log"
        ),
    ] = ""
    syslog: Annotated[
        str, SettingDoc("Send the audit log to this syslog socket, `/dev/log`, or `HOST:PORT`")
    ] = ""
    max_file_bytes: Annotated[
        int, SettingDoc("Size in bytes at which a new file of the audit log begins")
    ] = 100 * 1024 * 1024
    keep_files: Annotated[
        int, SettingDoc("Number of older files of the audit log that are kept")
    ] = 10


class LocalCache(SettingsGroup, frozen=True, kw_only=True):
    """The local cache of tables of remote stores."""

    size_bytes: Annotated[int, SettingDoc("Size of the on-disk cache of tables, in bytes")] = (
        1 << 30
    )
    dir: Annotated[
        Path, SettingDoc("Folder of the on-disk cache of tables", under_data="cache")
    ] = Path()


class Committed(SettingsGroup, frozen=True, kw_only=True):
    """Metadata of commits."""

    local_cache: LocalCache = LocalCache()


class Images(SettingsGroup, frozen=True, kw_only=True):
    """Images, which are built from Lakefiles."""

    storage_namespace: Annotated[
        str,
        SettingDoc(
            "Storage namespace of the repository `image`; by default `image` below "
            "`blockstore.default_namespace_prefix`, or in the folder of objects",
        ),
    ] = ""


class QueryProcesses(SettingsGroup, frozen=True, kw_only=True):
    """SQL queries and previews, which need the extra `query`."""

    processes: Annotated[
        int, SettingDoc("Maximum number of queries that each process runs at once; `0`: none")
    ] = 2
    timeout: Annotated[Seconds, SettingDoc("Time limit of a query")] = Seconds(30)
    memory_bytes: Annotated[int, SettingDoc("Memory that a query may use, in bytes")] = 512 << 20


class Operations(SettingsGroup, frozen=True, kw_only=True):
    """Settings of the operation log."""

    undo_days: Annotated[
        int,
        SettingDoc(
            "For how many days changes of branches and tags can be undone, and garbage collection "
            "keeps what that needs; a repository can have a number of its own"
        ),
    ] = DEFAULT_UNDO_DAYS


class Settings(SettingsGroup, frozen=True, kw_only=True):
    """All settings of a server."""

    data: Annotated[Path, SettingDoc("Folder of all data for which no other folder is set")] = Path(
        "anabranch-data"
    )
    listen_address: Annotated[
        Address, SettingDoc("Host and port to listen on; `:8000`: all interfaces")
    ] = Address("127.0.0.1", 8000)
    workers: Annotated[int, SettingDoc("Number of server processes; `0`: one for each core")] = 1
    installation: Installation = Installation()
    database: Database = Database()
    blockstore: Blockstore = Blockstore()
    images: Images = Images()
    actions: Actions = Actions()
    merges: Merges = Merges()
    queries: QueryProcesses = QueryProcesses()
    operations: Operations = Operations()
    auth: Auth = Auth()
    gateways: Gateways = Gateways()
    mcp: ModelContextProtocol = ModelContextProtocol()
    http: Http = Http()
    pages: Pages = Pages()
    workspaces: WorkspaceSettings = WorkspaceSettings()
    logging: Logging = Logging()
    telemetry: Telemetry = Telemetry()
    audit: Audit = Audit()
    committed: Committed = Committed()
