"""Removal and restoration of blocks in versioned buckets of S3.

A removed block is the version beneath a delete marker: it is restored by removing the marker, and
purged by removing the version. [AWS, "Amazon S3 API reference": DeleteObject, GetBucketVersioning,
ListObjectVersions]
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from anabranch.blocks.cloud.addresses import AddressParser, Location
from anabranch.blocks.cloud.signed_requests import error_code, require_status
from anabranch.blocks.cloud.xml_responses import Version, read_text, read_versions
from anabranch.blocks.quarantine import Outcome, Removal
from anabranch.blocks.s3.requests import S3Requests
from anabranch.errors import NotSupported

__all__ = ["S3Quarantine"]

_OK, _NO_CONTENT, _NOT_FOUND = 200, 204, 404
_UNVERSIONED = "null"
"""The id of the version that was stored while the bucket was not versioned."""


class S3Quarantine:
    """Removes and restores blocks of versioned buckets; `delete` removes blocks of one bucket."""

    def __init__(
        self,
        requests: S3Requests,
        addresses: AddressParser,
        delete: Callable[[Sequence[Location]], None],
    ) -> None:
        self._requests = requests
        self._addresses = addresses
        self._delete = delete

    def require(self, stem: str) -> None:
        """Raises NotSupported unless the bucket keeps versions."""
        location = self._addresses.parse_prefix(stem)
        bucket = location._replace(key="")
        response = self._requests.send("GET", bucket, query={"versioning": ""})
        require_status(response, bucket, _OK)
        status = read_text(response.body, "", "Status")  # moto names it otherwise
        if status != "Enabled":
            raise NotSupported(
                f"{location.root}: versioning of the bucket is "
                f"{status.lower() or 'not enabled'}, so removed objects cannot be restored",
                kind="quarantine_not_supported",
                hint="Enable versioning of the bucket, or sweep without quarantine.",
            )

    def size_and_version(self, address: str) -> tuple[int, str] | None:
        """Returns the size and the version of the block at an address; None without."""
        location = self._addresses.parse(address)
        response = self._requests.send("HEAD", location)
        if response.status == _NOT_FOUND and error_code(response) != "NoSuchBucket":
            return None
        require_status(response, location, _OK)
        headers = response.headers
        version = headers.get("x-amz-version-id", _UNVERSIONED)
        return int(headers.get("content-length", 0)), version

    def remove(self, removals: Sequence[Removal]) -> None:
        """Puts delete markers above blocks. Raises NotSupported as `require` does."""
        if not removals:
            return
        self.require(removals[0].stem)
        self._delete([self._addresses.parse(removal.address) for removal in removals])

    def restore(self, removal: Removal) -> Outcome:
        """Removes the delete markers above a block's version."""
        location = self._addresses.parse(removal.address)
        versions = self._versions(location)
        stored = [version for version in versions if not version.is_marker]
        if all(version.id != removal.version for version in stored):
            return "replaced" if any(version.is_latest for version in stored) else "gone"
        if stored[0].id != removal.version:
            return "replaced"
        if stored[0].is_latest:
            return "present"
        self._remove_versions(location, [version for version in versions if version.is_marker])
        after = self._versions(location)
        latest = [version.id for version in after if version.is_latest]
        if latest == [removal.version]:
            return "restored"
        is_kept = any(version.id == removal.version for version in after)
        return "replaced" if is_kept else "gone"

    def purge(self, removal: Removal, before: float) -> int | None:
        """Removes a version that lies beneath a delete marker or another version, and the markers
        if no version is left; returns its size.
        """
        location = self._addresses.parse(removal.address)
        versions = self._versions(location)
        if any(version.is_latest and version.mtime >= before for version in versions):
            return None  # removed again, or replaced, just now
        markers = [version for version in versions if version.is_marker]
        stored = [version for version in versions if not version.is_marker]
        purged = [version for version in stored if version.id == removal.version]
        if any(version.is_latest for version in purged):
            return None
        self._remove_versions(location, purged)
        if len(stored) == len(purged):
            self._remove_versions(location, markers)
        return purged[0].size if purged else None

    def _versions(self, location: Location) -> list[Version]:
        """Returns the versions of a key and its delete markers; each kind from new to old."""
        bucket = location._replace(key="")
        query = {"encoding-type": "url", "prefix": location.key, "versions": ""}
        found: list[Version] = []
        while True:
            response = self._requests.send("GET", bucket, query=dict(sorted(query.items())))
            require_status(response, location, _OK)
            page = read_versions(response.body)
            own = [version for version in page.versions if version.key == location.key]
            found += own
            # the key itself comes before all others that begin with it
            if not page.next_key_marker or len(own) < len(page.versions):
                return found
            query["key-marker"], query["version-id-marker"] = (
                page.next_key_marker,
                page.next_version_marker,
            )

    def _remove_versions(self, location: Location, versions: Sequence[Version]) -> None:
        for version in versions:
            response = self._requests.send("DELETE", location, query={"versionId": version.id})
            if response.status != _NOT_FOUND or error_code(response) == "NoSuchBucket":
                require_status(response, location, _NO_CONTENT, _OK)
