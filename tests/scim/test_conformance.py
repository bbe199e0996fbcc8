"""scim2-tester, which is by others, finds that the service is as SCIM's specification has it."""

from __future__ import annotations

import pytest


@pytest.mark.slow
def test_every_check_of_scim2_tester_succeeds(scim):
    # these take seconds to import, which every run of the tests would wait for
    from scim2_client.engines.httpx2 import SyncSCIMClient
    from scim2_tester import Status, check_server

    results = check_server(SyncSCIMClient(scim))
    failed = [
        f"{result.title} {result.resource_type or ''}: {result.reason}"
        for result in results
        if result.status not in {Status.SUCCESS, Status.SKIPPED}
    ]
    assert failed == []
    succeeded = [result for result in results if result.status is Status.SUCCESS]
    assert len(succeeded) > 60
