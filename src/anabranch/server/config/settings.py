"""The settings of a server, as frozen structs: their names, types, defaults and meaning.

A setting is named by its place (`blockstore.local.path`), and by the name that lakeFS gives it
where it means the same. What stands in `Means` is what docs/settings.md says, word for word.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from anabranch.model.secret import Secret
from anabranch.server.config.blockstore import Blockstore
from anabranch.server.config.types import Address, Group, Means, Seconds

__all__ = ["Address", "Means", "Seconds", "Settings"]


class LocalDatabase(Group, frozen=True, kw_only=True):
    """The embedded key-value store."""

    path: Annotated[
        Path, Means("Folder of the embedded key-value store", under_data="metadata")
    ] = Path()


class PostgresDatabase(Group, frozen=True, kw_only=True):
    """The key-value store that several machines share."""

    connection_string: Annotated[
        Secret,
        Means("Where PostgreSQL is: `postgres://user:password@host:5432/database?sslmode=require`"),
    ] = Secret("")
    max_open_connections: Annotated[
        int, Means("Connections to PostgreSQL that each process opens at most")
    ] = 25
    max_idle_connections: Annotated[
        int, Means("How many of them it keeps when it does not use them")
    ] = 25
    connection_max_lifetime: Annotated[
        Seconds, Means("After how long it replaces one; `0` is never")
    ] = Seconds(300)


class Database(Group, frozen=True, kw_only=True):
    """Where references and staging areas are kept."""

    type: Annotated[
        Literal["local", "mem", "postgres"],
        Means(
            "Key-value store: `local` is SQLite in a folder, `mem` ends with the server, "
            "`postgres` is shared by several machines"
        ),
    ] = "local"
    local: LocalDatabase = LocalDatabase()
    postgres: PostgresDatabase = PostgresDatabase()


class Encrypt(Group, frozen=True, kw_only=True):
    """The key of the installation."""

    secret_key: Annotated[
        Secret,
        Means(
            "Seals secret access keys and signs logins; whoever changes it locks everyone out",
            under_data="keys/encrypt",
            shared=True,
        ),
    ] = Secret("")


class AuthCache(Group, frozen=True, kw_only=True):
    """What is remembered of those who ask."""

    enabled: Annotated[bool, Means("Whether checked credentials are remembered")] = True
    size: Annotated[int, Means("How many of them")] = 1024
    ttl: Annotated[
        Seconds, Means("For how long; a revoked key may work for that long elsewhere")
    ] = Seconds(20)


class Auth(Group, frozen=True, kw_only=True):
    """Who may."""

    encrypt: Encrypt = Encrypt()
    cache: AuthCache = AuthCache()
    login_duration: Annotated[Seconds, Means("How long a login lasts")] = Seconds(168 * 3600)
    logout_redirect_url: Annotated[str, Means("Where a browser goes after logging out")] = (
        "/auth/login"
    )


class S3Gateway(Group, frozen=True, kw_only=True):
    """The S3 face."""

    domain_name: Annotated[
        tuple[str, ...], Means("Names of this server under which S3 clients put buckets")
    ] = ("s3.local.lakefs.io",)
    region: Annotated[str, Means("Region that S3 clients are told")] = "us-east-1"
    cors: Annotated[
        tuple[str, ...],
        Means(
            "Origins of web pages that may send requests to the S3 gateway, such as "
            "`https://app.example.com` or `https://*.example.com`; `*` is any"
        ),
    ] = ()


class Gateways(Group, frozen=True, kw_only=True):
    """Other faces than the REST API."""

    s3: S3Gateway = S3Gateway()


class Installation(Group, frozen=True, kw_only=True):
    """The administrator that a new installation gets by itself; all three or none."""

    user_name: Annotated[str, Means("Administrator made when there is none yet")] = ""
    access_key_id: Annotated[str, Means("The administrator's access key")] = ""
    secret_access_key: Annotated[Secret, Means("The secret of that key")] = Secret("")


class Http(Group, frozen=True, kw_only=True):
    """Connections of clients."""

    head_timeout: Annotated[
        Seconds, Means("How long the head of a request may take, from its first byte to its last")
    ] = Seconds(10)
    max_connections: Annotated[
        int,
        Means(
            "Connections that each process has at most, of which the longest idle are closed for "
            "new ones; `0` is three quarters of the files that it may open"
        ),
    ] = 0
    max_connections_per_address: Annotated[
        int,
        Means(
            "Connections from one address, or one /64 network of IPv6, that each process has at "
            "most; `0` is half of all"
        ),
    ] = 0
    trusted_proxies: Annotated[
        tuple[str, ...],
        Means(
            "Addresses and networks of proxies: their connections count for all clients, and their "
            "`X-Forwarded-Proto` is believed"
        ),
    ] = ()


class Logging(Group, frozen=True, kw_only=True):
    """What the server writes about itself, to standard error."""

    level: Annotated[
        Literal["TRACE", "DEBUG", "INFO", "WARN", "ERROR", "NONE"],
        Means("The least that is written"),
    ] = "INFO"
    format: Annotated[Literal["text", "json"], Means("For people or for programs")] = "text"
    audit_log_level: Annotated[
        Literal["TRACE", "DEBUG", "INFO", "WARN", "ERROR", "NONE"],
        Means("The level at which each request is written, with its name, status and duration"),
    ] = "DEBUG"


class LocalCache(Group, frozen=True, kw_only=True):
    """The cache of tables of stores that are not local."""

    size_bytes: Annotated[int, Means("Size of the on-disk cache of tables, in bytes")] = 1 << 30
    dir: Annotated[Path, Means("Folder of that cache", under_data="cache")] = Path()


class Committed(Group, frozen=True, kw_only=True):
    """Metadata of commits."""

    local_cache: LocalCache = LocalCache()


class Images(Group, frozen=True, kw_only=True):
    """Images that Lakefiles are built into."""

    storage_namespace: Annotated[
        str,
        Means(
            "Storage namespace of the repository `image`; by default `image` below "
            "`blockstore.default_namespace_prefix`, or in the folder of objects",
        ),
    ] = ""


class Settings(Group, frozen=True, kw_only=True):
    """All settings of a server."""

    data: Annotated[Path, Means("Folder that holds all that is not placed elsewhere")] = Path(
        "anabranch-data"
    )
    listen_address: Annotated[
        Address, Means("Host and port to listen on; `:8000` is every interface")
    ] = Address("127.0.0.1", 8000)
    workers: Annotated[int, Means("Processes that serve; 0 is one for each core")] = 1
    installation: Installation = Installation()
    database: Database = Database()
    blockstore: Blockstore = Blockstore()
    images: Images = Images()
    auth: Auth = Auth()
    gateways: Gateways = Gateways()
    http: Http = Http()
    logging: Logging = Logging()
    committed: Committed = Committed()
