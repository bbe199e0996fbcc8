"""Audit logs on standard output and to syslog."""

from __future__ import annotations

import socket
import subprocess
import sys

import pytest

from anabranch.audit.chain import parse_line
from anabranch.audit.streams import Syslog
from anabranch.audit.verification import verify
from anabranch.errors import Invalid

RECORDS = [{"event": "decision", "user": "jané", "number": number} for number in range(3)]

WRITE = """
from anabranch.audit.streams import StandardOutput

output = StandardOutput()
for number in range(3):
    output.write([{"event": "decision", "number": number}])
output.close()
"""


def test_lines_of_several_processes_on_standard_output_are_chains_of_their_own():
    runs = [
        subprocess.run([sys.executable, "-c", WRITE], capture_output=True, check=True)
        for _ in range(2)
    ]
    first, second = (run.stdout.splitlines() for run in runs)
    mixed = [line for pair in zip(first, second, strict=True) for line in pair]
    assert verify(mixed) == (6, "")
    assert len({parse_line(line)["writer"] for line in mixed}) == 2
    del mixed[2]
    assert verify(mixed).problem == "it does not follow the line before"


@pytest.mark.parametrize("transport", ["udp", "socket"])
def test_records_are_sent_to_syslog(tmp_path, transport):
    family = socket.AF_INET if transport == "udp" else socket.AF_UNIX
    with socket.socket(family, socket.SOCK_DGRAM) as service:
        place = tmp_path / "log"
        service.bind(("127.0.0.1", 0) if transport == "udp" else str(place))
        service.settimeout(20)
        address = f"127.0.0.1:{service.getsockname()[1]}" if transport == "udp" else str(place)
        syslog = Syslog(address)
        syslog.write(RECORDS)
        packets = [service.recv(65536) for _ in RECORDS]
        syslog.close()
    prefix = b"<86>anabranch-audit: "  # the facility authpriv, with the severity informational
    assert all(packet.startswith(prefix) for packet in packets)
    lines = [packet.removeprefix(prefix) for packet in packets]
    assert verify(lines) == (3, "")
    assert [parse_line(line)["number"] for line in lines] == [0, 1, 2]


def test_records_for_a_syslog_that_has_ended_raise_an_error(tmp_path):
    place = str(tmp_path / "log")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as service:
        service.bind(place)
        syslog = Syslog(place)
    with pytest.raises(OSError, match="syslog"):
        syslog.write(RECORDS)
    syslog.close()


@pytest.mark.parametrize("address", ["no port", "host:x"])
def test_address_that_is_none_is_refused(address):
    with pytest.raises(Invalid, match=r"audit\.syslog"):
        Syslog(address)
