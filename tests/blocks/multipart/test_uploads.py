"""The contract of multipart uploads, and properties of those of the local store."""

from __future__ import annotations

import hashlib
import os
import random
import threading

import pytest

from anabranch.errors import AnabranchError, Gone, Invalid, NotFound

MIB = 1 << 20


def md5(body):
    return hashlib.md5(body).hexdigest()


def whole_md5(bodies):
    digests = b"".join(hashlib.md5(body).digest() for body in bodies)
    return f"{md5(digests)}-{len(bodies)}"


def put_all(store, address, upload, bodies):
    """Puts parts 1, 2, …; returns their numbers and checksums."""
    return [
        (number, store.put_part(address, upload, number, [body]).checksum)
        for number, body in enumerate(bodies, 1)
    ]


def numbers(store, address, upload):
    return [part.number for part in store.parts(address, upload)]


class TestParts:
    def test_become_a_block(self, store, at, enough):
        bodies = [enough(os.urandom(size)) for size in (3 * MIB + 5, 0, 1)] + [os.urandom(70_000)]
        upload = store.open_upload(at("data/a"))
        listed = put_all(store, at("data/a"), upload, bodies)
        assert store.stat(at("data/a")) is None
        assert list(store.list(at(""))) == []
        stored = store.complete_upload(at("data/a"), upload, listed)
        assert stored[:2] == (sum(map(len, bodies)), whole_md5(bodies))
        assert store.read(at("data/a")) == b"".join(bodies)
        store.abort_upload(at("data/a"), upload)
        assert store.read(at("data/a")) == b"".join(bodies)
        assert [info.address for info in store.list(at(""))] == [at("data/a")]

    def test_are_listed_by_number(self, store, at):
        upload = store.open_upload(at("a"))
        assert list(store.parts(at("a"), upload)) == []
        part = store.put_part(at("a"), upload, 10_000, [b"ab", b"", b"c"])
        assert (part.number, part.size, part.checksum) == (10_000, 3, md5(b"abc"))
        store.put_part(at("a"), upload, 1, [])
        part_info = store.parts(at("a"), upload)[1]
        assert (part_info.number, part_info.size, part_info.checksum) == (10_000, 3, md5(b"abc"))
        assert abs(part_info.mtime - part.mtime) <= 1  # a store elsewhere has a clock of its own
        assert numbers(store, at("a"), upload) == [1, 10_000]

    def test_may_be_completed_in_part(self, store, at, enough):
        upload = store.open_upload(at("a"))
        listed = put_all(store, at("a"), upload, [enough(b"one"), b"two", b"three"])
        store.complete_upload(at("a"), upload, [listed[0], listed[2]])
        assert store.read(at("a")) == enough(b"one") + b"three"

    def test_one_part_can_be_completed(self, store, at):
        upload = store.open_upload(at("a"))
        listed = put_all(store, at("a"), upload, [b"one"])
        assert store.complete_upload(at("a"), upload, listed).checksum == whole_md5([b"one"])
        assert store.read(at("a")) == b"one"

    def test_the_last_part_with_a_number_counts(self, store, at, enough):
        upload, body = store.open_upload(at("a")), enough(b"") + b"second, longer"
        first = put_all(store, at("a"), upload, [enough(b"first"), b"b"])
        second = put_all(store, at("a"), upload, [body])
        assert [part.size for part in store.parts(at("a"), upload)] == [len(body), 1]
        with pytest.raises(Invalid) as error:
            store.complete_upload(at("a"), upload, first)
        assert error.value.kind == "part_not_found"
        assert store.stat(at("a")) is None
        store.complete_upload(at("a"), upload, [*second, first[1]])
        assert store.read(at("a")) == body + b"b"

    def test_a_part_stored_again_with_earlier_content_counts(self, store, at):
        upload = store.open_upload(at("a"))
        for body in (b"x", b"y", b"x"):
            listed = put_all(store, at("a"), upload, [body])
        assert len(store.parts(at("a"), upload)) == 1
        store.complete_upload(at("a"), upload, listed)
        assert store.read(at("a")) == b"x"

    def test_that_fail_change_nothing(self, store, at):
        def cut_off():
            yield b"x" * 100_000
            raise ConnectionError

        upload = store.open_upload(at("a"))
        for _ in range(2):
            with pytest.raises(ConnectionError):
                store.put_part(at("a"), upload, 1, cut_off())
        assert list(store.parts(at("a"), upload)) == []
        listed = put_all(store, at("a"), upload, [b"good"])
        with pytest.raises(ConnectionError):
            store.put_part(at("a"), upload, 1, cut_off())
        store.complete_upload(at("a"), upload, listed)
        assert store.read(at("a")) == b"good"

    def test_with_another_md5_change_nothing(self, store, at):
        upload = store.open_upload(at("a"))
        store.put_part(at("a"), upload, 1, [b"abc"], md5=md5(b"abc"))
        with pytest.raises(Invalid) as error:
            store.put_part(at("a"), upload, 1, [b"coffee"], md5=md5(b"abc"))
        assert error.value.kind == "checksum_mismatch"
        assert [part.checksum for part in store.parts(at("a"), upload)] == [md5(b"abc")]

    def test_may_be_stored_by_many_threads(self, store, at, enough):
        upload = store.open_upload(at("a"))
        bodies = {number: enough(os.urandom(number * 1_000)) for number in range(1, 25)}
        order = list(bodies)
        random.Random(1).shuffle(order)
        threads = [
            threading.Thread(
                target=store.put_part, args=(at("a"), upload, number, [bodies[number]])
            )
            for number in order
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        listed = [(part.number, part.checksum) for part in store.parts(at("a"), upload)]
        stored = store.complete_upload(at("a"), upload, listed)
        assert stored.checksum == whole_md5(list(bodies.values()))
        assert store.read(at("a")) == b"".join(bodies.values())


class TestCopies:
    BODY = bytes(range(256)) * 10_000

    @pytest.fixture(autouse=True)
    def source(self, store, at):
        store.put(at("source"), [self.BODY])

    @pytest.mark.parametrize(
        ("start", "length"), [(0, None), (0, 2_560_000), (5, 1), (1_000_000, None), (7, 1_500_000)]
    )
    @pytest.mark.sample(3)
    def test_of_ranges_are_parts(self, store, at, enough, start, length):
        wanted = self.BODY[start : None if length is None else start + length]
        upload = store.open_upload(at("a"))
        store.put_part(at("a"), upload, 1, [enough(b"first")])
        part = store.copy_part(at("a"), upload, 2, at("source"), start, length)
        assert (part.size, part.checksum) == (len(wanted), md5(wanted))
        listed = [(part.number, part.checksum) for part in store.parts(at("a"), upload)]
        store.delete([at("source")])
        store.complete_upload(at("a"), upload, listed)
        assert store.read(at("a")) == enough(b"first") + wanted

    @pytest.mark.parametrize(("start", "length"), [(0, 2_560_001), (2_560_001, None), (-1, 1)])
    def test_of_blocks_that_are_too_short_raise_gone(self, store, at, start, length):
        upload = store.open_upload(at("a"))
        with pytest.raises(Gone):
            store.copy_part(at("a"), upload, 1, at("source"), start, length)
        with pytest.raises(Gone):
            store.copy_part(at("a"), upload, 1, at("nothing"))
        assert list(store.parts(at("a"), upload)) == []


class TestUploads:
    def test_to_one_address_are_independent(self, store, at):
        one, other = store.open_upload(at("a")), store.open_upload(at("a"))
        assert one != other
        listed = put_all(store, at("a"), one, [b"abc"])
        with pytest.raises(Invalid):
            store.complete_upload(at("a"), other, listed)
        store.abort_upload(at("a"), other)
        store.complete_upload(at("a"), one, listed)

    @pytest.mark.parametrize(
        "odd", ["", "x", "..", "../../space", "0" * 32, "0" * 32 + "-" + "0" * 16]
    )
    @pytest.mark.sample(4)
    def test_with_unknown_ids_raise_not_found(self, store, at, odd):
        for use in (
            lambda: store.put_part(at("a"), odd, 1, [b"x"]),
            lambda: store.copy_part(at("a"), odd, 1, at("source")),
            lambda: store.parts(at("a"), odd),
            lambda: store.complete_upload(at("a"), odd, [(1, md5(b""))]),
        ):
            store.put(at("source"), [b""])
            with pytest.raises(NotFound) as error:
                use()
            assert error.value.kind == "upload_not_found"
        store.abort_upload(at("a"), odd)
        assert [info.address for info in store.list(at(""))] == [at("source")]

    def test_belong_to_one_address(self, store, at):
        upload = store.open_upload(at("a"))
        listed = put_all(store, at("a"), upload, [b"x"])
        for use in (
            lambda: store.put_part(at("b"), upload, 1, [b"y"]),
            lambda: store.parts(at("b"), upload),
            lambda: store.complete_upload(at("b"), upload, listed),
        ):
            with pytest.raises(NotFound):
                use()
        store.abort_upload(at("b"), upload)
        store.complete_upload(at("a"), upload, listed)
        assert store.stat(at("b")) is None

    def test_that_are_aborted_raise_not_found(self, store, at):
        upload = store.open_upload(at("a"))
        listed = put_all(store, at("a"), upload, [b"x", b"y"])
        store.abort_upload(at("a"), upload)
        store.abort_upload(at("a"), upload)
        with pytest.raises(NotFound):
            store.parts(at("a"), upload)
        with pytest.raises(NotFound):
            store.put_part(at("a"), upload, 1, [b"x"])
        with pytest.raises(NotFound):
            store.complete_upload(at("a"), upload, listed)
        assert store.stat(at("a")) is None

    def test_that_are_aborted_during_a_put_store_no_part(self, store, at):
        upload = store.open_upload(at("a"))

        def chunks():
            yield b"x"
            store.abort_upload(at("a"), upload)

        with pytest.raises(NotFound):
            store.put_part(at("a"), upload, 1, chunks())
        with pytest.raises(NotFound):
            store.parts(at("a"), upload)

    def test_are_not_removed_by_cleaning(self, store, at, enough):
        upload = store.open_upload(at("a"))
        listed = put_all(store, at("a"), upload, [enough(b"x"), b"y"])
        store.clean_temporaries(-10)
        store.complete_upload(at("a"), upload, listed)
        assert store.read(at("a")) == enough(b"x") + b"y"

    def test_of_other_stores_are_refused(self, store):
        for use in (
            lambda: store.open_upload("other://bucket/a"),
            lambda: store.put_part("other://bucket/a", "x", 1, []),
            lambda: store.copy_part("other://bucket/a", "x", 1, "other://bucket/b"),
            lambda: store.parts("other://bucket/a", "x"),
            lambda: store.complete_upload("other://bucket/a", "x", []),
        ):
            with pytest.raises(AnabranchError):
                use()


class TestCompletion:
    def test_may_be_repeated(self, store, at, enough):
        upload = store.open_upload(at("a"))
        listed = put_all(store, at("a"), upload, [enough(b"x" * 100), b"y"])
        first = store.complete_upload(at("a"), upload, listed)
        again = store.complete_upload(at("a"), upload, listed)
        assert first[:2] == again[:2]
        assert len(list(store.list(at("")))) == 1

    def test_with_other_parts_raises_an_error(self, store, at, enough):
        upload = store.open_upload(at("a"))
        listed = put_all(store, at("a"), upload, [enough(b"x"), b"y"])
        store.complete_upload(at("a"), upload, listed)
        with pytest.raises(NotFound):
            store.complete_upload(at("a"), upload, listed[:1])
        assert store.read(at("a")) == enough(b"x") + b"y"

    @pytest.mark.parametrize("wrong", [(3, md5(b"x")), (1, md5(b"y")), (2, md5(b"x"))])
    def test_with_unknown_parts_changes_nothing(self, store, at, enough, wrong):
        upload = store.open_upload(at("a"))
        listed = put_all(store, at("a"), upload, [enough(b"x"), b"y"])
        with pytest.raises(Invalid) as error:
            store.complete_upload(at("a"), upload, sorted([listed[0], wrong]))
        assert error.value.kind == "part_not_found"
        assert store.stat(at("a")) is None
        store.complete_upload(at("a"), upload, listed)
        assert store.read(at("a")) == enough(b"x") + b"y"

    @pytest.mark.sample(1)
    def test_by_several_threads_succeeds_once(self, store, at, enough):
        for attempt in range(3 if enough(b"") else 10):
            address = at(f"race-{attempt}")
            upload = store.open_upload(address)
            bodies = [enough(b"%d" % number * 50_000) for number in range(4)]
            listed = put_all(store, address, upload, bodies)
            start = threading.Barrier(8)
            won, lost = [], []

            def race(
                number,
                address=address,
                upload=upload,
                listed=listed,
                start=start,
                won=won,
                lost=lost,
            ):
                start.wait()
                try:
                    won.append(store.complete_upload(address, upload, listed[: number % 4 + 1]))
                except NotFound:
                    lost.append(number)

            threads = [threading.Thread(target=race, args=(number,)) for number in range(8)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            assert len({stored.checksum for stored in won}) == 1
            assert (len(won), len(lost)) == (2, 6)
            kept = bodies[: int(won[0].checksum.rpartition("-")[2])]
            assert store.read(address) == b"".join(kept)
