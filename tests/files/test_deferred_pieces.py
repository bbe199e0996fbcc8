"""Pieces whose source is opened for the first of them, and closed with them."""

from __future__ import annotations

import os
import socket

import pytest

from anabranch.blocks.local.range_reader import PIECE_BYTES, RangeReader
from anabranch.errors import Gone
from anabranch.files.deferred_pieces import DeferredPieces


def test_the_source_is_opened_once_for_the_first_piece():
    opened = []

    def source():
        opened.append(1)
        return iter([b"a", b"b"])

    pieces = DeferredPieces(source)
    assert not opened
    assert pieces.file is None
    assert list(pieces) == [b"a", b"b"]
    assert list(pieces) == []
    assert opened == [1]


def test_errors_of_opening_are_those_of_the_first_piece(tmp_path):
    pieces = DeferredPieces(lambda: RangeReader(str(tmp_path / "none"), "a", 0, 1))
    with pytest.raises(Gone):
        next(pieces)
    assert list(pieces) == []


def test_pieces_that_are_closed_open_nothing():
    pieces = DeferredPieces(lambda: pytest.fail("opened"))
    pieces.close()
    assert list(pieces) == []


def test_closing_closes_an_open_source():
    closed = []

    def source():
        try:
            yield b"a"
            yield b"b"
        finally:
            closed.append(1)

    pieces = DeferredPieces(source)
    assert next(pieces) == b"a"
    pieces.close()
    assert closed == [1]
    assert list(pieces) == []


def test_sent_bytes_and_returned_ones_are_those_of_the_file(tmp_path):
    size = 2 * PIECE_BYTES + 5
    content = os.urandom(size + 20)
    (tmp_path / "file").write_bytes(content)
    pieces = DeferredPieces(lambda: RangeReader(str(tmp_path / "file"), "a", 10, size))
    assert pieces.file is None, "it is not open yet"
    first = next(pieces)
    ours, theirs = socket.socketpair()
    with ours, theirs:
        sent = pieces.file.send_to(ours.fileno(), 1000)
        received = theirs.recv(4096)
    assert len(received) == sent
    assert pieces.file.remaining == size - len(first) - sent
    assert b"".join([first, received, *pieces]) == content[10 : size + 10]
