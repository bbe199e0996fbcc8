"""Documents that are no XML, not the one that is asked for, or made to do harm."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

DELETE = "/sea?delete="
TAGGING = "/sea/main/abc?tagging="
OURS = b'xmlns="http://s3.amazonaws.com/doc/2006-03-01/"'
KEY = b"<Object><Key>main/abc</Key></Object>"
LAUGHS = b"".join(
    b'<!ENTITY l%d "%s">' % (n, b"&l%d;" % (n - 1) * 10 if n else b"ha") for n in range(12)
)

DOCUMENTS = {
    "nothing": b"",
    "blank": b"  \n ",
    "no XML": b"key=main/abc",
    "JSON": b'{"Objects": [{"Key": "main/abc"}]}',
    "no end": b"<Delete>" + KEY,
    "crossed": b"<Delete><Object><Key>main/abc</Object></Key></Delete>",
    "two roots": b"<Delete>" + KEY + b"</Delete><Delete/>",
    "text after the root": b"<Delete>" + KEY + b"</Delete>text",
    "other root": b"<Remove>" + KEY + b"</Remove>",
    "root in other case": b"<delete>" + KEY + b"</delete>",
    "other namespace": b'<Delete xmlns="urn:other">' + KEY + b"</Delete>",
    "other namespace within": b'<Delete><Object xmlns="o"><Key>main/abc</Key></Object></Delete>',
    "prefix of no namespace": b"<o:Delete>" + KEY + b"</o:Delete>",
    "no UTF-8": b"<Delete><Object><Key>main/abc\xff</Key></Object></Delete>",
    "surrogates": b"<Delete><Object><Key>\xed\xa0\x80</Key></Object></Delete>",
    "cut in a character": "<Delete><Object><Key>main/ü".encode()[:-1],
    "null": b"<Delete><Object><Key>main/\x00</Key></Object></Delete>",
    "null as a number": b"<Delete><Object><Key>main/&#0;</Key></Object></Delete>",
    "unknown encoding": b'<?xml version="1.0" encoding="nonsense"?><Delete>' + KEY + b"</Delete>",
    "python's own encoding": b'<?xml version="1.0" encoding="rot13"?><Delete>' + KEY + b"</Delete>",
    "encoding that is wrong": b'<?xml version="1.0" encoding="utf-16"?><Delete>'
    + KEY
    + b"</Delete>",
    "document type": b"<!DOCTYPE Delete><Delete>" + KEY + b"</Delete>",
    "billion laughs": b"<!DOCTYPE d ["
    + LAUGHS
    + b"]><Delete><Object><Key>&l11;</Key></Object></Delete>",
    "quadratic": b'<!DOCTYPE d [<!ENTITY a "' + b"a" * 50_000 + b'">]><Delete>' + b"&a;" * 50_000,
    "file": b'<!DOCTYPE d [<!ENTITY a SYSTEM "file:///etc/passwd">]><Delete><Object><Key>main/&a;</Key>'
    b"</Object></Delete>",
    "parameter entity": b'<!DOCTYPE d [<!ENTITY % a SYSTEM "http://127.0.0.1/x"> %a;]><Delete/>',
    "outer document type": b'<!DOCTYPE d SYSTEM "http://127.0.0.1/d.dtd"><Delete>'
    + KEY
    + b"</Delete>",
    "unknown entity": b"<Delete><Object><Key>main/&unknown;</Key></Object></Delete>",
    "deep": b"<Delete>" + b"<a>" * 100_000,
    "deep and closed": b"<Delete>" + b"<a>" * 1000 + b"</a>" * 1000 + b"</Delete>",
    "many elements": b"<Delete>" + b"<a/>" * 1_000_000 + b"</Delete>",
    "many attributes": b"<Delete " + b"".join(b'a%d="" ' % n for n in range(200_000)),
    "same attribute": b'<Delete a="1" a="2">' + KEY + b"</Delete>",
    "long name": b"<" + b"D" * 4_000_000 + b"/>",
}
OF_DELETE = {
    "no object": b"<Delete></Delete>",
    "no key": b"<Delete><Object></Object></Delete>",
    "empty key": b"<Delete>" + KEY + b"<Object><Key></Key></Object></Delete>",
    "1,001 objects": b"<Delete>" + KEY * 1001 + b"</Delete>",
    "quiet": b"<Delete><Quiet>perhaps</Quiet>" + KEY + b"</Delete>",
    "size": b"<Delete><Object><Key>main/abc</Key><Size>ten</Size></Object></Delete>",
    "time": b"<Delete><Object><Key>main/abc</Key><LastModifiedTime>now</LastModifiedTime></Object>"
    b"</Delete>",
}


@pytest.mark.parametrize("name", [*DOCUMENTS, *OF_DELETE])
@pytest.mark.sample(14)
def test_documents_that_delete_nothing(wire, name):
    body = (DOCUMENTS | OF_DELETE)[name]
    wire.refuses(wire.request("POST", DELETE, body), 400, "MalformedXML")


# the reader is that of deletions, which all documents are given to
@pytest.mark.sample(6)
@pytest.mark.parametrize("name", DOCUMENTS)
def test_documents_that_tag_nothing(wire, name):
    body = DOCUMENTS[name].replace(b"Delete>", b"Tagging>")
    wire.refuses(wire.request("PUT", TAGGING, body), 400, "MalformedXML")


@pytest.mark.parametrize(
    "body",
    [
        b"<Tagging><TagSet><Tag><Key>a</Key></Tag></TagSet></Tagging>",
        b"<Tagging><TagSet><Other><Key>a</Key><Value>b</Value></Other></TagSet></Tagging>",
        b"<Tagging><TagSet/><TagSet/></Tagging>",
        b"<Tagging/>",
    ],
)
def test_tags_that_are_none(wire, body):
    wire.refuses(wire.request("PUT", TAGGING, body), 400, "MalformedXML")


@pytest.mark.slow
def test_a_document_that_is_too_long(wire):
    long = b"<Delete>" + KEY + b" " * (8 << 20) + b"</Delete>"
    wire.refuses(wire.request("POST", DELETE, long), 400, "MaxMessageLengthExceeded")
    huge = b"<Delete>" + KEY + b" " * (20 << 20) + b"</Delete>"
    wire.refuses(wire.request("POST", DELETE, huge), 400, "MaxMessageLengthExceeded")


@pytest.mark.parametrize(
    "root",
    [
        b"<Delete>%s</Delete>",
        b"<Delete " + OURS + b">%s</Delete>",
        b"\xef\xbb\xbf<Delete>%s</Delete>",
    ],
)
def test_documents_as_clients_write_them(wire, root):
    body = root % b"\n <Object><Key>main/nothing-here</Key></Object> <!-- one -->\n"
    assert b"<Deleted>" in wire.send(wire.request("POST", DELETE, body)).body


@pytest.mark.parametrize("signing", [{"secret": "wrong"}, {"key": "AKIAJNOBODYNOBODYNOQ"}])
def test_signature_is_verified_before_the_document_is_read(wire, signing):
    """A client that waits for `100 Continue` receives the error instead."""
    then = {"Content-Length": str(8 << 20), "Expect": "100-continue"}
    raw = wire.request("POST", DELETE, sent=b"", then=then, **signing)
    before = wire.state(), wire.files()
    with wire.connect() as connection:
        connection.sendall(raw)
        reply = wire.read(connection, "POST")
        assert reply.status == 403
        assert reply.closing
        assert connection.recv(1) == b""
    with wire.connect() as connection:
        connection.sendall(raw.replace(b"Expect: 100-continue\r\n", b""))
        assert wire.read(connection, "POST").status == 403
    wire.nothing_came_of_it(before)


def test_authorized_client_receives_100_continue(wire):
    then = {"Content-Length": "60", "Expect": "100-continue"}
    raw = wire.request("POST", DELETE, sent=b"", then=then, payload="UNSIGNED-PAYLOAD")
    with wire.connect() as connection:
        connection.sendall(raw)
        assert connection.recv(100) == b"HTTP/1.1 100 Continue\r\n\r\n"
        body = b"<Delete><Object><Key>main/none</Key></Object></Delete>"
        connection.sendall(body.ljust(60))
        assert b"<Deleted>" in wire.read(connection, "POST").body


def test_bombs_cost_little(wire):
    """Neither time nor memory: all of them at once, and the server answers others meanwhile."""
    kept = memory(wire.server.pid)
    raws = [wire.request("POST", DELETE, body) for body in DOCUMENTS.values()] * 2
    used = processor_seconds(wire.server.pid)
    threads = [threading.Thread(target=wire.send, args=(raw,)) for raw in raws]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert processor_seconds(wire.server.pid) - used < 30
    grown = peak(wire.server.pid) - kept
    assert grown < 300 << 20, f"{grown >> 20} MiB"


def processor_seconds(pid):
    """Returns the processor time of a process."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def memory(pid):
    return _status(pid, "VmRSS")


def peak(pid):
    return _status(pid, "VmHWM")


def _status(pid, name):
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    line = next(line for line in lines if line.startswith(name))
    return int(line.split()[1]) * 1024
