"""The settings under `blockstore`: the store of objects and tables."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from anabranch.model.secret import Secret
from anabranch.server.config.types import Seconds, SettingDoc, SettingsGroup

__all__ = [
    "AzureBlockstore",
    "Blockstore",
    "GsBlockstore",
    "LocalBlockstore",
    "S3Blockstore",
    "Signing",
]


class LocalBlockstore(SettingsGroup, frozen=True, kw_only=True):
    """Objects in a folder."""

    path: Annotated[Path, SettingDoc("Folder of the objects", under_data="block", shared=True)] = (
        Path()
    )
    pre_signed: Annotated[
        bool,
        SettingDoc(
            "Whether clients get presigned URLs of objects in the folder, which this server "
            "serves; lakeFS's Hadoop file system needs them"
        ),
    ] = False
    pre_signed_expiry: Annotated[
        Seconds, SettingDoc("Validity of presigned URLs of objects in the folder")
    ] = Seconds(15 * 60)
    pre_signed_endpoint: Annotated[
        str,
        SettingDoc(
            "URL of this server in presigned URLs, such as `https://lake.example.com`; by default "
            "that of the request"
        ),
    ] = ""
    import_enabled: Annotated[
        bool, SettingDoc("Whether objects may be imported from folders of this machine")
    ] = False
    allowed_external_prefixes: Annotated[
        tuple[str, ...],
        SettingDoc("Folders outside of the store that imports may read, by their paths"),
    ] = ()
    checked_up_to_bytes: Annotated[
        int,
        SettingDoc(
            "Maximum size, in bytes, of objects in the folder that are compared with their MD5 "
            "when a process first reads them as a whole; `0`: none"
        ),
    ] = 64 << 20


class Signing(SettingsGroup, frozen=True, kw_only=True):
    """Signing of upload addresses."""

    secret_key: Annotated[
        Secret,
        SettingDoc(
            "Key that signs the upload addresses of clients", under_data="keys/signing", shared=True
        ),
    ] = Secret("")


class S3Credentials(SettingsGroup, frozen=True, kw_only=True):
    """Credentials for S3."""

    access_key_id: Annotated[
        str, SettingDoc("Access key for S3; by default, it is looked up as by AWS's tools")
    ] = ""
    secret_access_key: Annotated[Secret, SettingDoc("Secret access key for S3")] = Secret("")
    session_token: Annotated[Secret, SettingDoc("Session token for S3")] = Secret("")


class S3Blockstore(SettingsGroup, frozen=True, kw_only=True):
    """Objects in S3 or an S3-compatible store."""

    endpoint: Annotated[
        str,
        SettingDoc(
            "URL of an S3-compatible server, such as `https://minio:9000`; by default AWS",
            shared=True,
        ),
    ] = ""
    region: Annotated[
        str,
        SettingDoc(
            "Region of buckets; by default, AWS is queried for it, and others get `us-east-1`"
        ),
    ] = ""
    discover_bucket_region: Annotated[
        bool, SettingDoc("Whether AWS is queried for the region of each bucket")
    ] = True
    force_path_style: Annotated[
        bool, SettingDoc("Whether requests have the bucket in the path instead of the host name")
    ] = False
    pre_signed_expiry: Annotated[Seconds, SettingDoc("Validity of presigned URLs")] = Seconds(
        15 * 60
    )
    pre_signed_endpoint: Annotated[
        str, SettingDoc("URL of S3 in presigned URLs, by default the endpoint")
    ] = ""
    disable_pre_signed: Annotated[bool, SettingDoc("Whether presigned URLs are disabled")] = False
    disable_pre_signed_multipart: Annotated[
        bool, SettingDoc("Whether presigned URLs for parts of uploads are disabled")
    ] = False
    max_retries: Annotated[int, SettingDoc("Maximum number of retries of a request to S3")] = 5
    profile: Annotated[str, SettingDoc("Profile in AWS's credentials file")] = ""
    credentials_file: Annotated[
        str, SettingDoc("AWS's credentials file, if it is not at its default path")
    ] = ""
    credentials: S3Credentials = S3Credentials()


class GsBlockstore(SettingsGroup, frozen=True, kw_only=True):
    """Objects in Google Cloud Storage."""

    credentials_file: Annotated[
        str,
        SettingDoc(
            "File with the key of a service account; by default, the credentials of Google's tools"
        ),
    ] = ""
    credentials_json: Annotated[Secret, SettingDoc("Key of a service account, as JSON")] = Secret(
        ""
    )
    pre_signed_expiry: Annotated[Seconds, SettingDoc("Validity of presigned URLs")] = Seconds(
        15 * 60
    )
    disable_pre_signed: Annotated[bool, SettingDoc("Whether presigned URLs are disabled")] = False


class AzureBlockstore(SettingsGroup, frozen=True, kw_only=True):
    """Objects in Azure's blob storage."""

    storage_account: Annotated[str, SettingDoc("Account of the access key", shared=True)] = ""
    storage_access_key: Annotated[
        Secret,
        SettingDoc("Access key of the account; by default, the identity of the environment"),
    ] = Secret("")
    pre_signed_expiry: Annotated[Seconds, SettingDoc("Validity of presigned URLs")] = Seconds(
        15 * 60
    )
    disable_pre_signed: Annotated[bool, SettingDoc("Whether presigned URLs are disabled")] = False
    domain: Annotated[str, SettingDoc("Domain of accounts")] = "blob.core.windows.net"
    test_endpoint_url: Annotated[str, SettingDoc("URL of an emulator, with its account")] = ""


class Blockstore(SettingsGroup, frozen=True, kw_only=True):
    """The store of objects and tables."""

    type: Annotated[
        Literal["local", "mem", "s3", "gs", "azure"],
        SettingDoc(
            "Block store: `local` is a folder, `mem` is lost when the server stops, `s3` is S3 or "
            "an S3-compatible store, `gs` is Google Cloud Storage, `azure` is Azure Blob Storage",
            shared=True,
        ),
    ] = "local"
    default_namespace_prefix: Annotated[
        str,
        SettingDoc("Prefix of the storage namespaces that clients propose for new repositories"),
    ] = ""
    timeout: Annotated[
        Seconds,
        SettingDoc("Time after which a failing request to an object store is no longer retried"),
    ] = Seconds(30)
    require_linked_objects: Annotated[
        bool,
        SettingDoc(
            "Whether `linkPhysicalAddress` refuses an address without an object of the stated "
            "size; lakeFS accepts one, and its load generator (`lakectl abuse`) needs that"
        ),
    ] = True
    local: LocalBlockstore = LocalBlockstore()
    s3: S3Blockstore = S3Blockstore()
    gs: GsBlockstore = GsBlockstore()
    azure: AzureBlockstore = AzureBlockstore()
    signing: Signing = Signing()
