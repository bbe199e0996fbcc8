"""The settings under `blockstore`: where the bytes of objects and tables are kept."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from anabranch.model.secret import Secret
from anabranch.server.config.types import Group, Means, Seconds

__all__ = [
    "AzureBlockstore",
    "Blockstore",
    "GsBlockstore",
    "LocalBlockstore",
    "S3Blockstore",
    "Signing",
]


class LocalBlockstore(Group, frozen=True, kw_only=True):
    """Objects in a folder."""

    path: Annotated[Path, Means("Folder of the objects", under_data="block", shared=True)] = Path()
    pre_signed: Annotated[
        bool,
        Means(
            "Whether clients are given presigned URLs of objects in the folder, which this server "
            "answers; lakeFS's Hadoop file system needs them"
        ),
    ] = False
    pre_signed_expiry: Annotated[
        Seconds, Means("How long a presigned URL of an object in the folder is good")
    ] = Seconds(15 * 60)
    pre_signed_endpoint: Annotated[
        str,
        Means(
            "Where clients reach this server, for presigned URLs: `https://lake.example.com`; by "
            "default where they asked for one"
        ),
    ] = ""
    import_enabled: Annotated[
        bool, Means("Whether objects may be imported from folders of this machine")
    ] = False
    allowed_external_prefixes: Annotated[
        tuple[str, ...], Means("Folders outside of the store that imports may read, by their paths")
    ] = ()
    checked_up_to_bytes: Annotated[
        int,
        Means(
            "Objects in the folder of up to so many bytes are compared with their MD5 when a "
            "process first reads them whole; `0` turns that off"
        ),
    ] = 64 << 20


class Signing(Group, frozen=True, kw_only=True):
    """Signing of upload addresses."""

    secret_key: Annotated[
        Secret,
        Means("Signs the addresses that clients upload to", under_data="keys/signing", shared=True),
    ] = Secret("")


class S3Credentials(Group, frozen=True, kw_only=True):
    """Who we are to S3, said in so many words."""

    access_key_id: Annotated[
        str, Means("Access key for S3; without one, it is looked for where AWS's tools do")
    ] = ""
    secret_access_key: Annotated[Secret, Means("The secret of that key")] = Secret("")
    session_token: Annotated[Secret, Means("The token of a session with that key")] = Secret("")


class S3Blockstore(Group, frozen=True, kw_only=True):
    """Objects in S3, or in what speaks as S3 does."""

    endpoint: Annotated[
        str, Means("URL of a server that is not AWS's, such as `https://minio:9000`", shared=True)
    ] = ""
    region: Annotated[
        str, Means("Region of buckets; without one, AWS's is asked for, others get `us-east-1`")
    ] = ""
    discover_bucket_region: Annotated[
        bool, Means("Whether AWS is asked for the region of each bucket")
    ] = True
    force_path_style: Annotated[
        bool, Means("Whether buckets stand in the path and not in the host's name")
    ] = False
    pre_signed_expiry: Annotated[Seconds, Means("How long a presigned URL is good")] = Seconds(
        15 * 60
    )
    pre_signed_endpoint: Annotated[
        str, Means("Where clients reach S3, for presigned URLs, if not at the endpoint")
    ] = ""
    disable_pre_signed: Annotated[bool, Means("Whether clients are refused presigned URLs")] = False
    disable_pre_signed_multipart: Annotated[
        bool, Means("Whether they are refused presigned URLs for parts of uploads")
    ] = False
    max_retries: Annotated[int, Means("How often a request to S3 is sent again")] = 5
    profile: Annotated[str, Means("Profile in AWS's file of credentials")] = ""
    credentials_file: Annotated[str, Means("That file, where it is not AWS's usual one")] = ""
    credentials: S3Credentials = S3Credentials()


class GsBlockstore(Group, frozen=True, kw_only=True):
    """Objects in Google Cloud Storage."""

    credentials_file: Annotated[
        str, Means("File with a service account's key; without one, what Google's tools use")
    ] = ""
    credentials_json: Annotated[Secret, Means("That key itself, as JSON")] = Secret("")
    pre_signed_expiry: Annotated[Seconds, Means("How long a presigned URL is good")] = Seconds(
        15 * 60
    )
    disable_pre_signed: Annotated[bool, Means("Whether clients are refused presigned URLs")] = False


class AzureBlockstore(Group, frozen=True, kw_only=True):
    """Objects in Azure's blob storage."""

    storage_account: Annotated[str, Means("Account that the access key is for", shared=True)] = ""
    storage_access_key: Annotated[
        Secret, Means("Access key of that account; without one, who the environment says we are")
    ] = Secret("")
    pre_signed_expiry: Annotated[Seconds, Means("How long a presigned URL is good")] = Seconds(
        15 * 60
    )
    disable_pre_signed: Annotated[bool, Means("Whether clients are refused presigned URLs")] = False
    domain: Annotated[str, Means("What accounts' names end with")] = "blob.core.windows.net"
    test_endpoint_url: Annotated[str, Means("URL of an emulator, with its account")] = ""


class Blockstore(Group, frozen=True, kw_only=True):
    """Where the bytes of objects and tables are kept."""

    type: Annotated[
        Literal["local", "mem", "s3", "gs", "azure"],
        Means(
            "Block store: `local` is a folder, `mem` ends with the server, `s3` is S3 or what "
            "speaks as S3 does, `gs` is Google Cloud Storage, `azure` is Azure's blob storage",
            shared=True,
        ),
    ] = "local"
    default_namespace_prefix: Annotated[
        str, Means("Beginning of the storage namespace that clients propose for a new repository")
    ] = ""
    timeout: Annotated[
        Seconds, Means("How long a request to an object store is sent again before it is given up")
    ] = Seconds(30)
    local: LocalBlockstore = LocalBlockstore()
    s3: S3Blockstore = S3Blockstore()
    gs: GsBlockstore = GsBlockstore()
    azure: AzureBlockstore = AzureBlockstore()
    signing: Signing = Signing()
