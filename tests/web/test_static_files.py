"""Files of the built application: codings, caching, headers."""

from __future__ import annotations

import gzip

import pytest

from anabranch.web.static_files import StaticFiles, accepted_encodings

SCRIPT = b"console.log('flow');" * 40


@pytest.fixture
def files(tmp_path):
    (tmp_path / "assets").mkdir()
    (tmp_path / "index.html").write_bytes(b"<!doctype html><title>Anabranch</title>")
    script = tmp_path / "assets/page-DfW4kQxa.js"
    script.write_bytes(SCRIPT)
    script.with_name(script.name + ".gz").write_bytes(gzip.compress(SCRIPT))
    script.with_name(script.name + ".br").write_bytes(b"by brotli")
    (tmp_path / "assets/glyphs.bin").write_bytes(b"\0\1")
    return StaticFiles(tmp_path)


def get(files, name, **headers):
    response = files.get(name).response(
        {field.replace("_", "-"): value for field, value in headers.items()}
    )
    return response, dict(response.headers)


def test_a_named_asset_is_never_asked_for_again(files):
    response, headers = get(files, "assets/page-DfW4kQxa.js")
    assert (response.status, response.body) == (200, SCRIPT)
    assert response.content_type == "text/javascript; charset=utf-8"
    assert headers["Cache-Control"] == "public, max-age=31536000, immutable"
    assert headers["X-Content-Type-Options"] == "nosniff"


def test_the_page_is_asked_for_again_by_its_etag(files):
    response, headers = get(files, "index.html")
    assert headers["Cache-Control"] == "no-cache"
    unchanged, again = get(files, "index.html", if_none_match=headers["ETag"])
    assert (unchanged.status, unchanged.body, again["ETag"]) == (304, b"", headers["ETag"])
    assert get(files, "index.html", if_none_match='"other"')[0].body == response.body


@pytest.mark.parametrize(
    ("accepted", "coding"),
    [
        ("gzip, deflate, br, zstd", "br"),
        ("gzip", "gzip"),
        ("GZIP;q=0.5", "gzip"),
        ("br;q=0, gzip", "gzip"),
        ("br; q=0.000", None),
        ("identity", None),
        ("*", None),
        ("", None),
    ],
)
def test_the_best_coding_that_a_client_accepts_is_sent(files, accepted, coding):
    response, headers = get(files, "assets/page-DfW4kQxa.js", accept_encoding=accepted)
    assert headers.get("Content-Encoding") == coding
    assert headers["Vary"] == "Accept-Encoding"
    expected = {"br": b"by brotli", "gzip": gzip.compress(SCRIPT), None: SCRIPT}[coding]
    if coding == "gzip":
        assert gzip.decompress(response.body) == SCRIPT
    else:
        assert response.body == expected


def test_codings_of_one_file_have_etags_of_their_own(files):
    codings = ("", "gzip", "br")
    etags = {
        get(files, "assets/page-DfW4kQxa.js", accept_encoding=each)[1]["ETag"] for each in codings
    }
    assert len(etags) == 3


def test_compressed_files_are_no_files_of_their_own(files):
    assert files.get("assets/page-DfW4kQxa.js.gz") is None
    assert files.get("assets/page-DfW4kQxa.js.br") is None


@pytest.mark.parametrize("name", ["../index.html", "assets", "assets/", "/etc/passwd", "", "."])
def test_only_files_below_the_folder_are_found(files, name):
    assert files.get(name) is None


def test_files_of_unknown_types_are_bytes(files):
    assert get(files, "assets/glyphs.bin")[0].content_type == "application/octet-stream"


def test_a_missing_folder_has_no_files(tmp_path):
    assert StaticFiles(tmp_path / "none").get("index.html") is None


def test_malformed_codings_are_not_accepted():
    assert accepted_encodings(";q=1,,;, br;level=9;q=0") == frozenset()
