"""The writer of the audit log: order, failures and the end."""

from __future__ import annotations

import threading

from support.eventually import eventually

from anabranch.access.actors.actor import Actor
from anabranch.access.policies.permissions import Permission, object_arn
from anabranch.access.policies.policies import Policy
from anabranch.access.policies.statements import Effect, Statement
from anabranch.audit.log import AuditLog, RequestAudit


class Disk:
    """A list of records that can be full."""

    def __init__(self):
        self.records, self.is_full, self.refusals, self.is_closed = [], False, 0, False
        self.gate = threading.Event()
        self.gate.set()

    def write(self, records):
        self.gate.wait()
        if self.is_full:
            self.refusals += 1
            raise OSError(28, "No space left on device")
        self.records += records

    def close(self):
        self.is_closed = True


def numbers(disk):
    return [record["number"] for record in disk.records if "number" in record]


def test_records_are_written_in_order_and_before_closing_ends():
    disk = Disk()
    log = AuditLog([disk])
    for number in range(5000):
        log.record({"number": number})
    log.close()
    assert numbers(disk) == list(range(5000))
    assert disk.is_closed


def test_records_wait_for_a_full_disk_and_are_written_once(caplog):
    disk, other = Disk(), Disk()
    disk.is_full = True
    log = AuditLog([other, disk])
    log.record({"number": 1})
    eventually(lambda: disk.refusals)
    log.record({"number": 2})
    disk.is_full = False
    eventually(lambda: numbers(disk) == [1, 2])
    log.close()
    assert numbers(other) == [1, 2]
    assert "No space left on device" in caplog.text
    assert "written again" in caplog.text


def test_records_beyond_the_limit_are_counted():
    disk = Disk()
    disk.gate.clear()
    log = AuditLog([disk], max_waiting=10)
    log.record({"number": 0})
    eventually(lambda: not log._waiting)  # taken by the writer, which waits for the disk
    for number in range(1, 31):
        log.record({"number": number})
    disk.gate.set()
    log.close()
    assert numbers(disk) == list(range(11))
    (lost,) = [record for record in disk.records if record.get("event") == "lost"]
    assert lost["count"] == 20


def test_a_log_that_is_closed_while_the_disk_is_full_ends():
    disk = Disk()
    disk.is_full = True
    log = AuditLog([disk])
    log.record({"number": 1})
    eventually(lambda: disk.refusals)
    log.close()
    assert disk.is_closed


def test_decision_names_the_policy_and_its_statement():
    disk = Disk()
    log = AuditLog([disk], clock=lambda: 1_700_000_000.5)
    policies = (
        Policy(
            id="Sales",
            created_at=0,
            statements=(
                Statement(Effect.ALLOW, ("fs:List*",), ("*",)),
                Statement(Effect.ALLOW, ("fs:Read*",), ("*",)),
            ),
        ),
        Policy(
            id="Secrets",
            created_at=0,
            statements=(Statement(Effect.DENY, ("fs:*",), (object_arn("sea", "secret/*"),)),),
        ),
    )
    audit = RequestAudit(log, gateway="rest", request_id="r1", source_ip="10.0.0.1")
    actor = Actor(username="jane", policies=policies).in_context("10.0.0.1", 0, audit.decided)
    for path, allowed in (("a", True), ("secret/a", False)):
        permission = Permission("fs:ReadObject", object_arn("sea", path))
        assert actor.may(permission) is allowed
        actor.on_decision(actor, permission, allowed)
    actor.on_decision(actor, Permission("fs:WriteObject", object_arn("sea", "a")), False)
    log.close()
    decided = [
        (each["allowed"], each["policy"], each["statement"], each["user"], each["request_id"])
        for each in disk.records
    ]
    assert decided == [
        (True, "Sales", 2, "jane", "r1"),
        (False, "Secrets", 1, "jane", "r1"),
        (False, None, None, "jane", "r1"),
    ]
    assert disk.records[0]["time"] == "2023-11-14T22:13:20.500Z"
