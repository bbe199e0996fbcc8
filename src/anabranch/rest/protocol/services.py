"""The services that operations use, built once for the server."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from anabranch.access.access import Access
from anabranch.access.aws_identity import AwsIdentities
from anabranch.access.oidc.single_sign_on import SingleSignOn
from anabranch.audit.log import AuditLog
from anabranch.catalog.catalog import Catalog
from anabranch.catalog.workspaces.unattended import AutoMergeRule
from anabranch.pipelines.branch_tasks.branch_tasks import BranchTasks
from anabranch.pipelines.images.build_service import Builds
from anabranch.pipelines.imports.imports import Imports
from anabranch.pipelines.purges.purges import Purges
from anabranch.pipelines.queries.queries import Queries
from anabranch.pipelines.storage.storage import Storage

__all__ = ["Services", "Version"]


class Version(NamedTuple):
    """Versions that the server reports: that of lakeFS whose API it implements, which clients parse
    as numbers between dots, and its own.
    """

    version: str
    anabranch: str
    context: str = "lakeFS"


class Services(NamedTuple):
    """All services of operations. `clock` returns seconds since 1970. `presign_endpoint` is the
    base URL of this server's presigned URLs; if empty, it is that of the client's request. `audit`
    is None without an audit log, `audit_file` if it is not written to a file. Logging out redirects
    to `logout_url`; pages lead to `documentation_url`, unless that is empty. `auto_merge` says
    where the keys of workspaces may merge. `single_sign_on` is None if it is not enabled.
    """

    catalog: Catalog
    imports: Imports
    builds: Builds
    branch_tasks: BranchTasks
    queries: Queries
    storage: Storage
    purges: Purges
    access: Access
    version: Version
    clock: Callable[[], float]
    presign_endpoint: str = ""
    logout_url: str = "/auth/login"
    documentation_url: str = ""
    auto_merge: tuple[AutoMergeRule, ...] = ()
    audit: AuditLog | None = None
    audit_file: Path | None = None
    aws_identities: AwsIdentities | None = None
    single_sign_on: SingleSignOn | None = None
