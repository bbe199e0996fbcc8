"""Multipart uploads: interrupted at any step, raced with each other, listed in pages."""

from __future__ import annotations

import itertools

import pytest

from anabranch.catalog.objects.multipart_completion import MIN_PART_BYTES, WantedPart
from anabranch.errors import AnabranchError, Busy, Invalid, NotFound, PreconditionFailed
from anabranch.testing.stores import fail_at

FIRST = b"0123456789abcdef" * (MIN_PART_BYTES // 16)


BODIES = [FIRST, b"the rest"]


class Stopped(BaseException):
    """The process was killed here."""


def begin(lake, path="a", bodies=BODIES):
    """Begins an upload and puts its parts; returns its id and what completes it."""
    upload = lake.uploads.create("sea", "main", path)
    wanted = []
    for number, body in enumerate(bodies, 1):
        put = lake.uploads.put_part(
            "sea", "main", path, upload.id, number, [body], checksum=lambda: ("crc32", "AAAAAA==")
        )
        wanted.append(WantedPart(number, put.checksum, {"crc32": "AAAAAA=="}))
    return upload.id, wanted


def complete(lake, upload, wanted, path="a", **options):
    return lake.completion.complete("sea", "main", path, upload, wanted, **options)


def content(lake, path="a"):
    try:
        return lake.objects.open("sea", "main", path).read_bytes()
    except NotFound:
        return None


def stopping(number):
    """Returns what stops everything before the step of that number, from 0, and counts steps."""
    steps = itertools.count()

    def before(_step, _subject):
        if next(steps) == number:
            raise Stopped

    return before


def stopped_everywhere(world, act):
    """Yields after `act` was stopped before its first step, its second, …, and its last."""
    for number in itertools.count():
        lake = world.open()
        upload, wanted = begin(lake)
        try:
            act(world.open(stopping(number)), upload, wanted)
        except Stopped:
            yield upload, wanted, True
            continue
        yield upload, wanted, False
        return


def test_a_completion_stopped_anywhere_is_all_or_nothing_and_can_be_repeated(world):
    etag = None
    stops = 0
    for upload, wanted, stopped in stopped_everywhere(world, complete):
        stops += stopped
        lake = world.open()
        live = [item.id for item in lake.uploads.list("sea", amount=10).items]
        assert (content(lake), live) in [(None, [upload]), (b"".join(BODIES), [])]
        done = complete(lake, upload, wanted)
        assert content(lake) == b"".join(BODIES)
        assert etag in {None, done.etag}
        etag = done.etag
        world.clean()
        assert world.left() == []
        assert len(world.data()) == 1
        with pytest.raises(NotFound):
            complete(lake, upload, wanted)
        lake.objects.delete("sea", "main", "a")
        world.blocks.delete([info.address for info in world.data()])
    assert stops > 8


def test_an_abortion_stopped_anywhere_can_be_repeated(world):
    def abort(lake, upload, _):
        lake.uploads.abort("sea", "main", "a", upload)

    stops = 0
    for upload, wanted, stopped in stopped_everywhere(world, abort):
        stops += stopped
        lake = world.open()
        live = bool(lake.uploads.list("sea", amount=10).items)
        if live:
            abort(lake, upload, wanted)
        for again in (abort, complete):
            with pytest.raises(NotFound):
                again(lake, upload, wanted)
        world.clean()
        assert world.left() == []
        assert world.data() == []
        assert content(lake) is None
    assert stops > 3


@pytest.mark.parametrize("step", ["parts", "complete_upload", "apply"])
def test_what_is_aborted_while_it_is_completed_is_not_there(world, step):
    upload, wanted = begin(world.open())
    done = []

    def before(now, _):
        if now == step and not done:
            done.append(now)
            world.open().uploads.abort("sea", "main", "a", upload)

    with pytest.raises(NotFound) as error:
        complete(world.open(before), upload, wanted)
    assert error.value.kind == "upload_not_found"
    assert content(world.open()) is None
    world.clean()
    assert world.left() == []


def test_what_is_made_of_an_upload_whose_abortion_was_stopped_is_removed(world):
    upload, wanted = begin(world.open())

    def stop(now, _):
        if now == "abort_upload":
            raise Stopped

    def before(now, _):
        if now == "complete_upload":
            with pytest.raises(Stopped):
                world.open(stop).uploads.abort("sea", "main", "a", upload)

    with pytest.raises(NotFound):
        complete(world.open(before), upload, wanted)
    assert content(world.open()) is None
    world.clean()
    assert world.left() == []


@pytest.mark.sample(3)
@pytest.mark.parametrize("step", ["get", "parts", "complete_upload", "apply", "abort_upload"])
@pytest.mark.parametrize("count", [1, 2])
def test_completions_that_race_have_one_result(world, step, count):
    """While all parts are completed, the first `count` of them are."""
    upload, wanted = begin(world.open())
    answers, kinds = [], []

    def attempt(lake, parts):
        answers.append(None)
        place = len(answers) - 1
        try:
            answers[place] = complete(lake, upload, parts)
        except (NotFound, Invalid) as error:
            kinds.append(error.kind)

    def before(now, _):
        if now == step and len(answers) == 1:
            attempt(world.open(), wanted[:count])

    attempt(world.open(before), wanted)
    won = [answer for answer in answers if answer is not None]
    assert len(answers) == 2
    assert len(won) == count
    assert set(kinds) <= {"upload_not_found"}
    assert len(set(won)) == 1
    expected = {1: FIRST, 2: b"".join(BODIES)}[int(won[0].etag.rpartition("-")[2])]
    assert content(world.open()) == expected
    assert len(world.data()) == 1
    world.clean()
    assert world.left() == []
    assert content(world.open()) == expected


def test_a_completion_that_cannot_clean_up_is_one_all_the_same(world):
    upload, wanted = begin(world.open())
    lake = world.open(fail_at("abort_upload", 1, Busy("no")))
    complete(lake, upload, wanted)
    assert content(lake) == b"".join(BODIES)
    assert world.left() != []
    world.clean()
    assert world.left() == []


def test_a_part_that_comes_while_all_is_completed_does_no_harm(world):
    upload, wanted = begin(world.open())

    def chunks():
        yield b"late"
        complete(world.open(), upload, wanted)

    with pytest.raises(NotFound):
        world.open().uploads.put_part("sea", "main", "a", upload, 1, chunks())
    assert content(world.open()) == b"".join(BODIES)


def test_parts_that_are_wrong_change_nothing(world):
    lake = world.open()
    upload, (first, second) = begin(lake)
    other = "0" * 32
    refused = [
        ([], "no_parts"),
        ([first, second._replace(number=3)], "part_not_found"),
        ([first, second._replace(md5=other)], "part_not_found"),
        ([first, second._replace(md5="")], "part_not_found"),
        ([first, second._replace(md5="x" * 32)], "part_not_found"),
        ([first, second._replace(checksums={"crc32": "AAAAAQ=="})], "part_not_found"),
        ([first, second._replace(checksums={"crc32c": "AAAAAA=="})], "part_not_found"),
        ([second, first], "part_too_small"),
    ]
    for wanted, kind in refused:
        with pytest.raises(Invalid) as error:
            complete(lake, upload, wanted)
        assert error.value.kind == kind
    with pytest.raises(Invalid) as error:
        complete(lake, upload, [first, second], size=1)
    assert error.value.kind == "wrong_size"
    for number in (0, 10_001, -1):
        with pytest.raises(Invalid):
            lake.uploads.put_part("sea", "main", "a", upload, number, [b"x"])
    assert content(lake) is None
    complete(lake, upload, [first, second], size=len(FIRST) + 8)
    assert content(lake) == b"".join(BODIES)


def test_an_upload_is_of_one_key_of_one_repository(world):
    lake = world.open()
    lake.repositories.create("lake", "mem://lake")
    lake.branches.create("sea", "dev", "main")
    upload, wanted = begin(lake)
    for repository, branch, path in (
        ("lake", "main", "a"),
        ("sea", "dev", "a"),
        ("sea", "main", "b"),
    ):
        place = (repository, branch, path, upload)
        for use in (
            lambda place=place: lake.uploads.put_part(*place, 1, [b"x"]),
            lambda place=place: lake.uploads.parts(*place),
            lambda place=place: lake.uploads.abort(*place),
            lambda place=place: lake.completion.complete(*place, wanted),
        ):
            with pytest.raises(NotFound) as error:
                use()
            assert error.value.kind == "upload_not_found"
    complete(lake, upload, wanted)
    with pytest.raises(NotFound):
        lake.completion.complete("sea", "dev", "a", upload, wanted)


def test_precondition_is_checked_after_all_parts_exist(world):
    lake = world.open()
    upload, wanted = begin(lake)
    done = []

    def before(step, _):
        if step == "apply" and not done:
            done.append(step)
            world.open().objects.upload("sea", "main", "a", [b"came first"])

    with pytest.raises(PreconditionFailed):
        complete(world.open(before), upload, wanted, if_absent=True)
    assert content(lake) == b"came first"
    complete(lake, upload, wanted)
    assert content(lake) == b"".join(BODIES)
    world.clean()
    assert world.left() == []


def test_uploads_end_with_their_repository(world):
    lake = world.open()
    upload, wanted = begin(lake)
    lake.repositories.delete("sea")
    lake.repositories.create("sea", "mem://sea2")
    assert lake.uploads.list("sea", amount=10).items == []
    with pytest.raises(NotFound):
        complete(lake, upload, wanted)
    world.clean()
    assert world.left() == []


def test_an_upload_outlives_its_branch_but_not_its_name(world):
    lake = world.open()
    lake.branches.create("sea", "dev", "main")
    upload = lake.uploads.create("sea", "dev", "a")
    part = lake.uploads.put_part("sea", "dev", "a", upload.id, 1, [b"abc"])
    lake.branches.delete("sea", "dev")
    wanted = [WantedPart(1, part.checksum, {})]
    with pytest.raises(NotFound) as error:
        lake.completion.complete("sea", "dev", "a", upload.id, wanted)
    assert error.value.kind == "branch_not_found"
    lake.branches.create("sea", "dev", "main")
    lake.completion.complete("sea", "dev", "a", upload.id, wanted)
    assert lake.objects.open("sea", "dev", "a").read_bytes() == b"abc"


def test_where_nothing_may_be_written_nothing_is_begun(world):
    lake = world.open()
    for branch, path in (("none", "a"), ("main", ""), ("main", "x" * 1025)):
        with pytest.raises(AnabranchError):
            lake.uploads.create("sea", branch, path)
    lake.protection.replace("sea", ["main"])
    with pytest.raises(AnabranchError):
        lake.uploads.create("sea", "main", "a")
    assert world.left() == []
