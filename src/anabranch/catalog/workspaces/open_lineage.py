"""What a workspace has read as an event of OpenLineage 2: https://openlineage.io/spec/2-0-2/."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime
from typing import Any

from anabranch.model.references.workspace import WorkspaceReads

__all__ = ["run_event"]

_PRODUCER = "urn:anabranch"
_SCHEMA = "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent"
_VERSION_FACET = (
    "https://openlineage.io/spec/facets/1-0-1/DatasetVersionDatasetFacet.json"
    "#/$defs/DatasetVersionDatasetFacet"
)


def run_event(
    repository: str, branch: str, reads: WorkspaceReads, *, run_id: str, time: float
) -> dict[str, Any]:
    """Returns a RunEvent whose inputs are the reads, each with its commit as version; `time` is in
    seconds since 1970. The id of the run is a UUID, as the specification requires: `run_id` itself
    if it is one, else one that is made from it and the workspace.
    """
    return {
        "eventType": "OTHER",
        "eventTime": datetime.fromtimestamp(time, UTC).isoformat(),
        "producer": _PRODUCER,
        "schemaURL": _SCHEMA,
        "run": {"runId": _uuid(f"lakefs://{repository}/{branch}", run_id)},
        "job": {"namespace": f"lakefs://{repository}", "name": branch},
        "inputs": [
            {
                "namespace": f"lakefs://{repository}",
                "name": read.path,
                "facets": {
                    "version": {
                        "_producer": _PRODUCER,
                        "_schemaURL": _VERSION_FACET,
                        "datasetVersion": read.commit_id,
                    }
                },
            }
            for read in reads.reads
        ],
        "outputs": [],
    }


def _uuid(place: str, run_id: str) -> str:
    try:
        return str(uuid.UUID(run_id))
    except ValueError:
        return str(uuid.uuid5(uuid.NAMESPACE_URL, f"{place}#{run_id}"))
