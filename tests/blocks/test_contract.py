"""The contract of block stores."""

from __future__ import annotations

import hashlib
import os
import re
import threading
import time

import pytest
from support.session.sizes import sized

from anabranch.blocks.cloud.addresses import is_path
from anabranch.errors import AlreadyExists, Gone, Invalid

MIB = 1 << 20


def md5(body: bytes) -> str:
    return hashlib.md5(body, usedforsecurity=False).hexdigest()


class TestPut:
    @pytest.mark.parametrize("size", [0, 1, 1_000, 65_536, MIB, 3 * MIB + 17])
    @pytest.mark.sample(6)
    def test_stores_every_byte(self, store, at, size):
        body = os.urandom(size)
        before = int(time.time())
        stored = store.put(at("data/a"), [body])
        assert (stored.size, stored.checksum) == (size, md5(body))
        assert before <= stored.mtime <= time.time()
        assert store.read(at("data/a")) == body
        info = store.stat(at("data/a"))
        assert info[:2] == (at("data/a"), size)
        assert abs(info.mtime - stored.mtime) <= 1

    @pytest.mark.wiring
    def test_joins_its_chunks(self, store, at):
        chunks = [b"", b"a", os.urandom(70_000), b"", os.urandom(2 * MIB), b"z"]
        stored = store.put(at("a"), iter(chunks))
        assert stored.checksum == md5(b"".join(chunks))
        assert store.read(at("a")) == b"".join(chunks)

    def test_of_no_chunks_stores_an_empty_block(self, store, at):
        assert store.put(at("a"), [])[:2] == (0, md5(b""))
        assert store.read(at("a")) == b""
        assert list(store.get(at("a"))) == []

    def test_replaces_an_existing_block(self, store, at):
        store.put(at("a"), [b"first, the longer"])
        store.put(at("a"), [b"second"])
        assert store.read(at("a")) == b"second"
        assert [info.address for info in store.list(at(""))] == [at("a")]

    def test_that_fails_stores_no_block(self, store, at):
        def cut_off():
            yield b"x" * 100_000
            raise ConnectionError("the client went away")

        with pytest.raises(ConnectionError):
            store.put(at("data/a"), cut_off())
        assert store.stat(at("data/a")) is None
        assert list(store.list(at(""))) == []

    def test_that_fails_keeps_the_existing_block(self, store, at):
        def cut_off():
            yield b"y"
            raise ConnectionError("the client went away")

        store.put(at("a"), [b"x"])
        with pytest.raises(ConnectionError):
            store.put(at("a"), cut_off())
        assert store.read(at("a")) == b"x"

    def test_is_not_visible_before_its_end(self, store, at):
        def watched():
            for _ in range(3):
                yield b"x" * 10_000
                assert store.stat(at("a")) is None
                assert list(store.list(at(""))) == []

        store.put(at("a"), watched())
        assert store.stat(at("a")).size == 30_000


class TestCreate:
    def test_stores_at_a_free_address(self, store, at):
        assert store.put(at("a"), [b"x"], if_absent=True).size == 1
        assert store.read(at("a")) == b"x"

    def test_raises_already_exists_for_an_existing_block(self, store, at):
        store.put(at("a"), [b"x"])
        with pytest.raises(AlreadyExists):
            store.put(at("a"), [b"y"], if_absent=True)
        assert store.read(at("a")) == b"x"
        assert len(list(store.list(at("")))) == 1

    def test_by_several_threads_succeeds_once(self, store, at):
        for attempt in range(sized(3, weekly=10)):
            address = at(f"race-{attempt}")
            start = threading.Barrier(8)
            won: list[int] = []

            def race(number: int, address: str = address, start=start, won=won) -> None:
                start.wait()
                try:
                    store.put(address, [b"%d" % number] * 1_000, if_absent=True)
                except AlreadyExists:
                    return
                won.append(number)

            threads = [threading.Thread(target=race, args=(number,)) for number in range(8)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            assert len(won) == 1
            assert store.read(address) == b"%d" % won[0] * 1_000


class TestGet:
    BODY = bytes(range(256)) * 16_384  # 4 MiB

    @pytest.fixture(autouse=True)
    def _block(self, store, at):
        store.put(at("a"), [self.BODY])
        store.put(at("empty"), [])

    @pytest.mark.parametrize(
        ("start", "length"),
        [
            (0, None),
            (0, 0),
            (0, 1),
            (1, 2 * MIB),
            (MIB - 1, MIB + 2),
            (4 * MIB - 1, 1),
            (4 * MIB - 1, None),
            (4 * MIB, None),
            (4 * MIB, 0),
        ],
    )
    @pytest.mark.sample(9)
    def test_returns_the_range(self, store, at, start, length):
        expected = self.BODY[start:] if length is None else self.BODY[start : start + length]
        pieces = list(store.get(at("a"), start, length))
        assert b"".join(pieces) == expected
        assert all(0 < len(piece) <= MIB for piece in pieces)
        assert store.read(at("a"), start, length) == expected

    @pytest.mark.parametrize(
        ("start", "length"), [(0, 4 * MIB + 1), (4 * MIB, 1), (4 * MIB + 1, None), (9 * MIB, 0)]
    )
    def test_raises_gone_immediately_for_a_block_that_is_too_short(self, store, at, start, length):
        with pytest.raises(Gone, match=re.escape(at("a"))):
            store.get(at("a"), start, length)
        with pytest.raises(Gone):
            store.read(at("a"), start, length)

    @pytest.mark.parametrize(("start", "length"), [(-1, None), (-1, 1), (5, -1)])
    def test_returns_no_bytes_for_an_invalid_range(self, store, at, start, length):
        with pytest.raises(Gone):
            store.get(at("a"), start, length)

    @pytest.mark.parametrize("key", ["b", "a/b", "A", "a.b", "empt"])
    def test_raises_gone_immediately_for_a_missing_block(self, store, at, key):
        with pytest.raises(Gone, match=re.escape(at(key))):
            store.get(at(key))
        with pytest.raises(Gone):
            store.read(at(key))
        assert store.stat(at(key)) is None

    def test_continues_when_the_block_is_deleted(self, store, at):
        pieces = store.get(at("a"))
        first = next(pieces)
        store.delete([at("a")])
        assert first + b"".join(pieces) == self.BODY


class TestDelete:
    def test_removes_blocks_and_ignores_missing_ones(self, store, at):
        for key in ("a", "b/c", "b/d"):
            store.put(at(key), [b"x"])
        store.delete([at("a"), at("never"), at("b/c"), at("b"), at("a/b"), at("a")])
        assert [info.address for info in store.list(at(""))] == [at("b/d")]

    def test_frees_the_address(self, store, at):
        store.put(at("a"), [b"x"])
        store.delete([at("a")])
        store.put(at("a"), [b"y"], if_absent=True)
        assert store.read(at("a")) == b"y"


class TestCopy:
    @pytest.mark.parametrize("size", [0, 5, 2 * MIB + 3])
    def test_copies_all_bytes(self, store, at, size):
        body = os.urandom(size)
        store.put(at("a"), [body])
        assert store.copy(at("a"), at("new/b"))[:2] == (size, md5(body))
        store.delete([at("a")])
        assert store.read(at("new/b")) == body

    def test_uses_a_given_checksum(self, store, at):
        store.put(at("a"), [b"x"])
        assert store.copy(at("a"), at("b"), checksum="0f" * 16)[:2] == (1, "0f" * 16)
        assert store.read(at("b")) == b"x"

    def test_of_nothing_is_gone(self, store, at):
        with pytest.raises(Gone):
            store.copy(at("a"), at("b"), checksum="0" * 32)
        assert store.stat(at("b")) is None

    @pytest.mark.parametrize("size", [0, 5, 2 * MIB + 3])
    def test_survives_its_source(self, store, at, size):
        body = os.urandom(size)
        store.put(at("a"), [body], unique_address=True)
        assert store.copy(at("a"), at("new/b"), checksum=md5(body))[:2] == (size, md5(body))
        assert store.copy(at("new/b"), at("c"), checksum=md5(body)).size == size
        store.put(at("a"), [b"another"])
        assert store.read(at("new/b")) == store.read(at("c")) == body
        store.delete([at("a"), at("new/b")])
        assert store.read(at("c")) == body

    def test_replaces_another(self, store, at):
        store.put(at("a"), [b"x"])
        store.put(at("b"), [b"y"])
        store.copy(at("a"), at("b"), checksum="0" * 32)
        assert store.read(at("b")) == b"x"


class TestStorageClass:
    def test_is_text_or_none(self, store, at):
        store.put(at("a"), [b"x"])
        assert store.storage_class(at("a")) in {None, "STANDARD", "Hot"}

    def test_of_nothing_is_gone(self, store, at):
        with pytest.raises(Gone):
            store.storage_class(at("a"))


class TestList:
    KEYS = ("a", "a-b", "a/", "a0", "b", "data/x", "data/y/z", "é", "z", "😀", "data.x", "data0")

    @pytest.fixture(autouse=True)
    def _blocks(self, store, at):
        # in a folder, `a` cannot be both a block and a folder
        self.keys = [key for key in self.KEYS if key != "a/"] + [
            "c/d",
            "c/d-e",
            "c-",
            "c0",
            "c/e/f",
        ]
        for key in self.keys:
            store.put(at(key), [key.encode()])
        store.put(at("x")[: -len("/x")] + "-other/a", [b""])

    def addresses(self, at, begin=""):
        return sorted((at(key) for key in self.keys if key.startswith(begin)), key=str.encode)

    def test_is_sorted_by_bytes(self, store, at):
        listed = list(store.list(at("")))
        assert [info.address for info in listed] == self.addresses(at)
        assert [info.size for info in listed] == [
            len(address.removeprefix(at("")).encode()) for address in self.addresses(at)
        ]

    @pytest.mark.parametrize(
        "begin", ["a", "c", "c/", "c/d", "c/e/", "data", "data/", "nothing", "nothing/", "é", ".."]
    )
    @pytest.mark.sample(11)
    def test_has_only_blocks_with_the_prefix(self, store, at, begin, request):
        if begin == ".." and store.config.blockstore_type == "s3":
            begin += "a" * (request.getfixturevalue("s3").product == "MinIO")  # it refuses ".."
        listed = [info.address for info in store.list(at(begin))]
        assert listed == self.addresses(at, begin)

    def test_starts_after_a_key(self, store, at):
        everything = self.addresses(at)
        tried = [*everything, at(""), at("c/"), at("c/d/"), at("c/zz"), at("zzz"), at("\U0010ffff")]
        for after in tried:
            listed = [info.address for info in store.list(at(""), after=after)]
            assert listed == [address for address in everything if address > after]

    def test_accepts_any_text_for_after(self, store, at):
        assert len(list(store.list(at(""), after=""))) == len(self.keys)
        assert len(list(store.list(at(""), after="Z"))) == len(self.keys)
        assert list(store.list(at(""), after="zz://")) == []

    def test_of_a_namespace_excludes_another_with_the_same_beginning(self, store, at):
        assert not any("-other" in info.address for info in store.list(at("")))


class TestAddresses:
    def test_of_another_store_are_refused(self, store):
        for address in ("other://bucket/a", "space/a", "", "file:///etc/passwd", "/etc/passwd"):
            for use in (
                lambda a: store.put(a, [b"x"]),
                store.get,
                store.read,
                store.stat,
                lambda a: store.delete([a]),
                store.list,
                store.unqualify,
                store.local_path,
            ):
                with pytest.raises(Invalid):
                    use(address)

    def test_are_case_sensitive_and_not_normalized(self, store, at):
        keys = ["a b", "a%20b", "a+b", "a?b#c", "a\\b", "a:b", "…", "..a", "a..", "...", "-", "~"]
        keys += ["a\nb", "\n", "a\n", "\x7f", "A", "k" * 255, "é", "e\u0301"]
        if store.config.blockstore_type == "s3":
            keys = [key for key in keys if "\n" not in key]  # the emulator has none
        scheme = at("").partition("://")[0]
        if scheme in ("https", "gs"):
            changed = re.compile(r"\\|\.(/|\Z)" if scheme == "https" else r"(?!)")
            for key in [key for key in keys if not is_path(key) or changed.search(key)]:
                keys.remove(key)
                with pytest.raises(Invalid):
                    store.put(at("letters/" + key), [b"x"])
        for key in keys:
            store.put(at("letters/" + key), [key.encode()], if_absent=True)
        assert [store.read(at("letters/" + key)).decode() for key in keys] == keys
        listed = [info.address for info in store.list(at("letters/"))]
        assert listed == sorted((at("letters/" + key) for key in keys), key=str.encode)

    def test_are_equal_after_qualifying_and_unqualifying(self, store, at):
        for key in ("a", "data/b", "é/😀"):
            qualified = store.qualify(at(key))
            assert store.unqualify(qualified) == at(key)
            assert store.unqualify(at(key)) == at(key)
            assert store.qualify(qualified) == qualified

    def test_are_qualified_like_their_prefixes(self, store, at):
        namespace = at("")[:-1]
        assert store.qualify(namespace) + "/data/a" == store.qualify(at("data/a"))

    def test_of_other_stores_are_qualified_unchanged(self, store):
        assert store.qualify("other://bucket/a//b") == "other://bucket/a//b"

    def test_may_be_used_qualified(self, store, at):
        store.put(store.qualify(at("a")), [b"x"])
        assert store.read(at("a")) == store.read(store.qualify(at("a"))) == b"x"

    def test_namespaces_are_accepted_by_scheme(self, store, at):
        scheme = at("").partition("://")[0]
        root = f"{scheme}://"
        if scheme == "https":
            root += "account.blob.core.windows.net/"
        for good in ("a", "a/", "a/b", "a.b-c_d"):
            assert store.accepts(root + good)
        for bad in ("other://a", "a", "", f"{scheme}:/a", f"{scheme}://", scheme):
            assert not store.accepts(bad)
        assert re.match(store.config.namespace_validity_regex, f"{root}a")
        assert store.accepts(store.config.blockstore_namespace_example)
        prefix = store.config.default_namespace_prefix
        assert not prefix or store.accepts(prefix + "repository")

    def test_namespaces_are_prefixes_of_their_addresses(self, store, at):
        for namespace in (at("a"), at("a/")):
            address = f"{store.namespace(namespace).rstrip('/')}/key"
            store.put(address, [b"x"])
            assert store.read(at("a/key")) == b"x"
        with pytest.raises(Invalid, match="invalid namespace"):
            store.namespace("other://a")


class TestReadIfCached:
    def test_returns_a_new_block_or_none(self, store, at):
        body = os.urandom(70_000)
        store.put(at("a"), [body])
        for start, length in [(0, 70_000), (0, 1), (69_999, 1), (1_000, 2_000)]:
            assert store.read_if_cached(at("a"), start, length) in {
                body[start : start + length],
                None,
            }

    def test_returns_none_for_missing_or_short_blocks(self, store, at):
        store.put(at("a"), [b"abc"])
        assert store.read_if_cached(at("b"), 0, 3) is None
        assert store.read_if_cached(at("a"), 0, 4) is None
        assert store.read_if_cached(at("a"), 3, 1) is None
