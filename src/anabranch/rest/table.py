"""The table of all operations of the API, which are declared in the modules of their nouns."""

from __future__ import annotations

from typing import Any

from anabranch.rest.operations import actions, images, imports
from anabranch.rest.operations.access import (
    credentials,
    explain,
    external_principals,
    group_acls,
    groups,
    policies,
    users,
)
from anabranch.rest.operations.commits import (
    blame,
    branch_tasks,
    commits,
    history_edits,
    merges,
    metadata,
    snapshots,
)
from anabranch.rest.operations.garbage import pins, preparation, rules, sweeps, table_records
from anabranch.rest.operations.installation import audit_records, config, health, setup, statistics
from anabranch.rest.operations.logins import (
    auth,
    command_line_login,
    sign_in_links,
    single_sign_on,
    sts,
)
from anabranch.rest.operations.objects import (
    archives,
    batch_reads,
    objects,
    presigned_uploads,
    staging,
    transfers,
    uploads,
)
from anabranch.rest.operations.pulls import pulls, reviewers, reviews
from anabranch.rest.operations.queries import lake_tables, queries
from anabranch.rest.operations.references import (
    branch_ends,
    branch_protection,
    branches,
    installation_log,
    operations,
    refs,
    tables,
    tags,
    undo,
    views,
)
from anabranch.rest.operations.repositories import (
    deleted,
    notifications,
    purges,
    refs_dump,
    repositories,
    storage,
)
from anabranch.rest.operations.workspaces import reads, workspaces
from anabranch.rest.protocol.operation import Operation

__all__ = ["BASE_PATH", "EXTENSIONS", "OPERATIONS"]

BASE_PATH = "/api/v1"

OPERATIONS: tuple[Operation[Any, Any], ...] = (
    *health.OPERATIONS,
    *config.OPERATIONS,
    *setup.OPERATIONS,
    *statistics.OPERATIONS,
    *auth.OPERATIONS,
    *single_sign_on.OPERATIONS,
    *users.OPERATIONS,
    *credentials.OPERATIONS,
    *groups.OPERATIONS,
    *group_acls.OPERATIONS,
    *external_principals.OPERATIONS,
    *sts.OPERATIONS,
    *policies.OPERATIONS,
    *repositories.OPERATIONS,
    *branches.OPERATIONS,
    *history_edits.OPERATIONS,
    *branch_protection.OPERATIONS,
    *rules.OPERATIONS,
    *preparation.OPERATIONS,
    *tags.OPERATIONS,
    *commits.OPERATIONS,
    *merges.OPERATIONS,
    *refs.OPERATIONS,
    *refs_dump.OPERATIONS,
    *objects.OPERATIONS,
    *uploads.OPERATIONS,
    *staging.OPERATIONS,
    *presigned_uploads.OPERATIONS,
    *metadata.OPERATIONS,
    *imports.OPERATIONS,
    *pulls.OPERATIONS,
    *actions.OPERATIONS,
)
"""All operations of lakeFS's API."""

EXTENSIONS: tuple[Operation[Any, Any], ...] = (
    *branch_tasks.OPERATIONS,
    *images.OPERATIONS,
    *transfers.OPERATIONS,
    *archives.OPERATIONS,
    *batch_reads.OPERATIONS,
    *snapshots.OPERATIONS,
    *blame.OPERATIONS,
    *queries.OPERATIONS,
    *lake_tables.OPERATIONS,
    *storage.OPERATIONS,
    *deleted.OPERATIONS,
    *purges.OPERATIONS,
    *audit_records.OPERATIONS,
    *notifications.OPERATIONS,
    *reviewers.OPERATIONS,
    *reviews.OPERATIONS,
    *actions.EXTENSIONS,
    *history_edits.EXTENSIONS,
    *merges.EXTENSIONS,
    *refs.EXTENSIONS,
    *tables.OPERATIONS,
    *views.OPERATIONS,
    *operations.OPERATIONS,
    *installation_log.OPERATIONS,
    *undo.OPERATIONS,
    *branches.EXTENSIONS,
    *branch_ends.OPERATIONS,
    *workspaces.OPERATIONS,
    *reads.OPERATIONS,
    *sweeps.OPERATIONS,
    *table_records.OPERATIONS,
    *pins.OPERATIONS,
    *explain.OPERATIONS,
    *users.EXTENSIONS,
    *command_line_login.OPERATIONS,
    *sign_in_links.OPERATIONS,
)
"""Operations that the open-source lakeFS does not have."""
