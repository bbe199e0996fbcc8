import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.errors import Invalid
from anabranch.model.references.expression import parse_expression
from anabranch.model.uri import LakeUri, parse_uri


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("lakefs://repo", ("repo",)),
        ("lakefs://repo/", ("repo",)),
        ("lakefs://repo/main", ("repo", "main")),
        ("lakefs://repo/main/", ("repo", "main")),
        ("lakefs://repo/main/a", ("repo", "main", "a")),
        ("lakefs://repo/main/a/", ("repo", "main", "a/")),
        ("lakefs://repo/main/a/b c.csv", ("repo", "main", "a/b c.csv")),
        ("lakefs://repo/main//a//b", ("repo", "main", "/a//b")),
        ("lakefs://repo/main///", ("repo", "main", "//")),
        ("lakefs://repo/main/a?b=c&d#e", ("repo", "main", "a?b=c&d#e")),
        ("lakefs://repo/main/100%25 %zz %2F", ("repo", "main", "100%25 %zz %2F")),
        ("lakefs://repo/main/../..", ("repo", "main", "../..")),
        ("lakefs://repo/main/lakefs://other", ("repo", "main", "lakefs://other")),
        ("lakefs://repo/main/ü/🌿\x00\n", ("repo", "main", "ü/🌿\x00\n")),
        ("lakefs://repo/dev:joe-bugfix-1234/k", ("repo", "dev:joe-bugfix-1234", "k")),
        ("lakefs://repo/main~2^2/k", ("repo", "main~2^2", "k")),
        ("lakefs://repo/main@/k", ("repo", "main@", "k")),
        ("lakefs://repo/main$", ("repo", "main$")),
        ("lakefs://image:v1", ("image", "v1")),
        ("lakefs://image:v1/a:b", ("image", "v1", "a:b")),
        ("lakefs://image:dev:v1/", ("image", "dev:v1")),
        ("lakefs://image/v1/a", ("image", "v1", "a")),
        ("lakefs://repo/a?b#c%20/k", ("repo", "a?b#c%20", "k")),
    ],
)
def test_address_is_split_into_parts(text, parts):
    assert parse_uri(text) == LakeUri(*parts)


@pytest.mark.parametrize(
    ("uri", "text"),
    [
        (LakeUri("repo"), "lakefs://repo"),
        (LakeUri("repo", "main"), "lakefs://repo/main"),
        (LakeUri("repo", "main", "a/"), "lakefs://repo/main/a/"),
        (LakeUri("repo", "main", "/"), "lakefs://repo/main//"),
    ],
)
def test_str_is_shortest_form(uri, text):
    assert str(uri) == text


@pytest.mark.parametrize(
    ("text", "reason", "hint"),
    [
        ("", "begin with lakefs://", "Write it like"),
        ("main/file", "begin with lakefs://", "base address"),
        ("s3://repo/main/file", "begin with lakefs://", "Write it like"),
        ("lakefs:/repo/main", "begin with lakefs://", "mean lakefs://repo/main?"),
        ("LakeFS://repo/main", "begin with lakefs://", "mean lakefs://repo/main?"),
        ("//repo/main", "begin with lakefs://", "mean lakefs://repo/main?"),
        (" lakefs://repo", "begin with lakefs://", "Write it like"),
        ("lakefs://", "names no repository", "Write it like"),
        ("lakefs:///main/file", "names no repository", "Write it like"),
        ("lakefs://Repo/main", "'Repo' cannot name a repository", "lower-case"),
        ("lakefs://repo:80/main", "'repo:80' cannot name a repository", "lower-case"),
        ("lakefs://me@repo/main", "'me@repo' cannot name a repository", "lower-case"),
        ("lakefs://repo?x", "'repo?x' cannot name a repository", "lower-case"),
        ("lakefs://repo//file", "no branch, tag or commit", "Write it like"),
        ("lakefs://repo//", "no branch, tag or commit", "Write it like"),
        ("lakefs://repo/my main/file", "'my main' holds white space", "hold none"),
    ],
)
def test_malformed_address_is_invalid(text, reason, hint):
    with pytest.raises(Invalid) as caught:
        parse_uri(text)
    assert caught.value.kind == "invalid_uri"
    assert reason in caught.value.message
    assert hint in caught.value.hint


@pytest.mark.parametrize(
    ("base", "text", "whole"),
    [
        ("lakefs://repo/main/", "a/b", "lakefs://repo/main/a/b"),
        ("lakefs://repo/main/data", "-1.csv", "lakefs://repo/main/data-1.csv"),
        ("lakefs://repo/", "main/a", "lakefs://repo/main/a"),
        ("lakefs://", "repo/main", "lakefs://repo/main"),
        ("lakefs://repo/main/", "/a", "lakefs://repo/main//a"),
        ("lakefs://repo/main/", "s3://a", "lakefs://repo/main/s3://a"),
        ("lakefs://repo/main/", "", "lakefs://repo/main"),
        ("lakefs://repo/main/", "lakefs://other/dev/a", "lakefs://other/dev/a"),
        ("", "lakefs://other/dev/a", "lakefs://other/dev/a"),
    ],
)
def test_relative_address_is_appended_to_base(base, text, whole):
    assert str(parse_uri(text, base)) == whole


def test_error_of_wrong_base_shows_whole_address():
    with pytest.raises(Invalid, match="'repo/main/file'"):
        parse_uri("file", "repo/main/")


REPOSITORIES = st.from_regex(r"[a-z0-9][a-z0-9-]{2,62}", fullmatch=True)
REFS = st.text(st.characters(exclude_characters="/ \t\n\r\f\v"), min_size=1)


@given(REPOSITORIES, REFS, st.text())
def test_addresses_round_trip(repository, ref, key):
    uri = LakeUri(repository, ref, key)
    assert parse_uri(str(uri)) == uri
    if not key.startswith("lakefs://"):  # which makes an address of its own
        assert parse_uri(key, f"lakefs://{repository}/{ref}/") == uri


@given(REPOSITORIES)
def test_repository_addresses_round_trip(repository):
    assert parse_uri(str(LakeUri(repository))) == LakeUri(repository)


@given(st.text(alphabet="abc/~:?%# ").map("lakefs://{}".format) | st.text())
def test_any_text_parses_or_is_invalid(text):
    try:
        uri = parse_uri(text)
    except Invalid:
        return
    assert str(uri) in {text, text.removesuffix("/")}


@given(st.text(alphabet="ab:.-~^@$012/", max_size=12))
def test_ref_can_be_expression(text):
    try:
        expression = parse_expression(text)
    except Invalid:
        return
    if "/" not in text:
        assert parse_uri(f"lakefs://repo/{expression}/key") == LakeUri("repo", text, "key")
