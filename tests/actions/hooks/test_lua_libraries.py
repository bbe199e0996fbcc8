"""The libraries of Lua hooks, compared with what other programs say."""

import base64
import hashlib
import hmac
import io
import json
import re
import threading
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from hypothesis import given, settings
from hypothesis import strategies as st
from support.hooks.hook_runs import HERE, hook_context
from support.session.hypothesis_profiles import examples

from anabranch.actions.hooks.contract import HookSettings
from anabranch.actions.hooks.lua.libraries.registry import Libraries
from anabranch.actions.hooks.lua.sandbox import Sandbox
from anabranch.errors import HookFailed

ALLOWED = HookSettings(webhook_allow=HERE.webhook_allow, lua_net_http_enabled=True)


def run(script, lake=None, **context):
    """Runs a script in this process and returns what it prints."""
    written = []
    context = hook_context(lake, **context)
    sandbox = Sandbox(written.append, Libraries(context).open, lambda: None)
    sandbox.run(script.encode(), "script")
    return "".join(written).removesuffix("\n")


def call(library, function, *arguments, **context):
    """Returns the results of a library's function, as text with tabs."""
    literals = ", ".join(map(literal, arguments))
    return run(f"print(require({literal(library)}).{function}({literals}))", **context)


def literal(value):
    if isinstance(value, bytes):
        return '"' + "".join(f"\\{byte:03}" for byte in value) + '"'
    if isinstance(value, str):
        return literal(value.encode())
    if isinstance(value, dict):
        items = (f"[{literal(key)}] = {literal(item)}" for key, item in value.items())
        return "{" + ", ".join(items) + "}"
    if isinstance(value, list):
        return "array({" + ", ".join(map(literal, value)) + "})"
    return "nil" if value is None else str(value).lower()


def shown(value):
    """Returns a script that prints a value of Lua as JSON."""
    return run(f"io = nil print(require('encoding/json').marshal({value}))")


values = st.recursive(
    st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: (
        st.lists(inner) | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), inner)
    ),
    max_leaves=10,
)


@settings(max_examples=examples(50), deadline=None)
@given(
    st.lists(values) | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), values)
)
def test_documents_pass_through_lua_unchanged(value):
    for library, text, read in (
        ("encoding/json", json.dumps(value), json.loads),
        ("encoding/yaml", yaml.safe_dump(value), yaml.safe_load),
    ):
        script = f"local c = require('{library}') print(c.marshal(c.unmarshal({literal(text)})))"
        assert read(run(script)) == value


def test_json_is_written_as_go_writes_it():
    value = "{b = 1, a = {1.5, 2.0, 1e20}, c = '<&>\\u{2028}é', d = array({}), e = {}, f = 2^53}"
    assert shown(value) == (
        '{"a":[1.5,2,100000000000000000000],"b":1,"c":"\\u003c\\u0026\\u003e\\u2028é","d":[],"e":{},'
        '"f":9007199254740992}\n'
    )
    script = 'print(require("encoding/json").marshal({a = {b = 1}}, {prefix = ">", indent = " "}))'
    assert run(script) == '{\n> "a": {\n>  "b": 1\n> }\n>}\n'


def test_numbers_without_a_fraction_are_whole_as_in_lua_5_2():
    assert run('print(require("encoding/json").unmarshal("[5.0, 5, 0.5, 1e3]")[1])') == "5"


@pytest.mark.parametrize("text", ["{", "NaN", '{"a": Infinity}', "", "[1,]"])
def test_invalid_json_is_an_error(text):
    with pytest.raises(HookFailed, match="script:1"):
        call("encoding/json", "unmarshal", text)


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("library", "text"),
    [
        ("encoding/yaml", "[" * 100_000 + "]" * 100_000),
        ("encoding/yaml", "- " * 100_000),
        ("encoding/json", "[" * 100_000 + "]" * 100_000),
        ("encoding/xml", "<a>" * 100_000),
    ],
)
def test_documents_that_are_nested_too_deep_are_errors(library, text):
    with pytest.raises(HookFailed, match=r"^script:1: "):
        call(library, "unmarshal", text)


def test_xml_becomes_tables():
    text = '<a x="1">t<b>u</b>v<c/></a>'
    script = f"local e = require('encoding/xml').unmarshal({literal(text)}) "
    script += "print(e.name, e.attributes.x, e.text, #e.children, e.children[1].text)"
    assert run(script) == "a\t1\ttv\t2\tu"


@pytest.mark.parametrize(
    "text",
    [
        '<!DOCTYPE a [<!ENTITY b "xxxxxxxxxx"><!ENTITY c "&b;&b;">]><a>&c;</a>',
        '<!DOCTYPE a SYSTEM "file:///etc/passwd"><a/>',
        "<a>" * 101 + "</a>" * 101,
        "<a><b></a>",
        "",
    ],
)
def test_dangerous_and_invalid_xml_is_refused(text):
    with pytest.raises(HookFailed, match="script:1"):
        call("encoding/xml", "unmarshal", text)


@settings(max_examples=examples(50), deadline=None)
@given(st.binary(), st.binary(min_size=1))
def test_encodings_and_digests_are_those_of_python(data, key):
    script = f"""
        local d, k = {literal(data)}, {literal(key)}
        local hex, b64 = require("encoding/hex"), require("encoding/base64")
        local hmac, aes = require("crypto/hmac"), require("crypto/aes")
        local function show(...)
          for _, text in ipairs({{...}}) do print(hex.encode(text)) end
        end
        assert(hex.decode(hex.encode(d)) == d)
        assert(b64.decode(b64.encode(d)) == d)
        assert(b64.url_decode(b64.url_encode(d)) == d)
        show(b64.encode(d), b64.url_encode(d))
        show(require("crypto/md5").digest(d), require("crypto/sha1").digest(d))
        show(require("crypto/sha256").digest(d))
        show(hmac.sign_sha256(d, k), hmac.sign_sha1(d, k))
        local aes_key = require("crypto/sha256").digest(k)
        local secret = aes.encryptCBC(aes_key, d)
        assert(aes.decryptCBC(aes_key, secret) == d)
        show(secret)
    """
    found = [bytes.fromhex(line) for line in run(script).splitlines()]
    assert found[:7] == [
        base64.b64encode(data),
        base64.urlsafe_b64encode(data).rstrip(b"="),
        hashlib.md5(data).digest(),
        hashlib.sha1(data).digest(),
        hashlib.sha256(data).digest(),
        hmac.digest(key, data, "sha256"),
        hmac.digest(key, data, "sha1"),
    ]
    cipher = Cipher(algorithms.AES(hashlib.sha256(key).digest()), modes.CBC(found[7][:16]))
    decryptor = cipher.decryptor()
    padded = decryptor.update(found[7][16:]) + decryptor.finalize()
    assert padded == data + bytes([16 - len(data) % 16]) * (16 - len(data) % 16)


@pytest.mark.parametrize(
    ("library", "function", "text"),
    [
        ("encoding/hex", "decode", "0g"),
        ("encoding/hex", "decode", "012"),
        ("encoding/base64", "decode", "a"),
        ("encoding/base64", "decode", "YQ=a"),
        ("encoding/base64", "url_decode", "YQ=="),
        ("encoding/base64", "url_decode", "+/+/"),
        ("encoding/z85", "decode_uuid", "short"),
        ("encoding/z85", "decode_uuid", "~" * 20),
    ],
)
def test_invalid_encodings_are_errors(library, function, text):
    with pytest.raises(HookFailed, match="script:1"):
        call(library, function, text)


def test_the_name_of_a_deletion_vector_is_decoded():
    """The example of Delta Lake's protocol, section Deletion Vector Descriptor Schema."""
    found = call("encoding/z85", "decode_uuid", "ab^-aqEH.-t@S}K{vb[*k^")
    assert found == "d2c639aa-8816-431a-aaf6-d3fe2512ff61\tab"


def test_uuids_are_random():
    first, second = (uuid.UUID(call("uuid", "new")) for _ in range(2))
    assert (first.version, second.version) == (4, 4)
    assert first != second


@pytest.mark.parametrize(
    ("function", "arguments", "expected"),
    [
        ("has_prefix", ("abc", "ab"), "true"),
        ("has_suffix", ("abc", "ab"), "false"),
        ("contains", ("abc", ""), "true"),
        ("trim", ("\u2003 a b\n",), "a b"),
        ("replace", ("aaa", "a", "é", 2), "ééa"),
        ("replace", ("aaa", "a", "b", -1), "bbb"),
        ("replace", ("ab", "", "-", -1), "-a-b-"),
        ("replace", (10, 0, 1, -1), "11"),
    ],
)
def test_strings(function, arguments, expected):
    assert call("strings", function, *arguments) == expected


def test_split_strings_are_arrays():
    assert shown("require('strings').split('a,,é', ',')") == '["a","","é"]\n'
    assert shown("require('strings').split('aé', '')") == '["a","é"]\n'
    assert shown("require('strings').split('', ',')") == '[""]\n'


@pytest.mark.parametrize(
    ("function", "arguments", "expected"),
    [
        ("join", ("/", "path/", "/to", "a", "file"), "path/to/a/file"),
        ("join", ("/", "/a", "b/"), "/a/b/"),
        ("join", ("/", "", "a"), "/a"),
        ("is_hidden", ("a/b/c",), "false"),
        ("is_hidden", ("a/b/_c",), "true"),
        ("is_hidden", ("a/_b/c",), "true"),
        ("is_hidden", ("a/b/_c/",), "true"),
        ("is_hidden", ("a.b_.c", ".", "b"), "true"),
        ("default_separator", (), "/"),
        ("extract_dir_name", ("a/b/c",), "a/b"),
        ("extract_dir_name", ("c",), "."),
    ],
)
def test_paths(function, arguments, expected):
    assert call("path", function, *arguments) == expected


def test_a_path_has_a_parent_and_a_name():
    assert shown("require('path').parse('a/b/c.csv')") == '{"base_name":"c.csv","parent":"a/b/"}\n'
    assert shown("require('path').parse('a/b/')") == '{"base_name":"b","parent":"a/"}\n'
    assert shown("require('path').parse('c')") == '{"base_name":"c","parent":""}\n'


def test_addresses_are_divided_into_parts():
    found = json.loads(shown("require('net/url').parse('https://u:p@h.de:8/a%20b?p1=a#sec')"))
    assert found == {
        "scheme": "https",
        "host": "h.de:8",
        "path": "/a b",
        "query": "p1=a",
        "fragment": "sec",
    }
    assert call("net/url", "query_unescape", "a%3Db+c") == "a=b c"
    assert call("net/url", "build_url", "s3", "bucket", "/a b/c=1") == "s3://bucket/a%20b/c=1"


@pytest.mark.parametrize(
    ("pattern", "text", "expected"),
    [
        ("a(b+)c?", "xxabbb abc", ["abbb", ["abbb", "bbb"], ["abbb", "abc"]]),
        ("(a)|(b)", "ba", ["b", ["b", "", "b"], ["b", "a"]]),
        ("z", "ab", ["", [], []]),
        ("[[:alpha:]_]+", "é1a_b", ["a_b", ["a_b"], ["a_b"]]),
        (r"\d+\z", "1 22", ["22", ["22"], ["22"]]),
        ("(?i)A.", "ab", ["ab", ["ab"], ["ab"]]),
    ],
)
def test_regular_expressions(pattern, text, expected):
    script = f"local p, t = require('regexp').compile({literal(pattern)}), {literal(text)} "
    script += "print(require('encoding/json').marshal({p.find(t), p.find_submatch(t), "
    script += "p.find_all(t, -1)}))"
    assert json.loads(run(script)) == expected
    assert call("regexp", "match", pattern, text) == str(bool(expected[1])).lower()


def test_only_so_many_matches_are_found():
    found = shown("require('regexp').compile('(a)(.)').find_all_submatch('abacad', 2)")
    assert json.loads(found) == [["ab", "a", "b"], ["ac", "a", "c"]]


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_quoted_patterns_match_themselves(text):
    quote = Libraries(hook_context()).open("regexp")["quote_meta"]
    assert re.fullmatch(quote(text), text)


@pytest.mark.parametrize("pattern", ["(", "[[:nothing:]]", "a**", "[[:^alpha:]]"])
def test_invalid_patterns_are_errors(pattern):
    with pytest.raises(HookFailed, match="script:1"):
        call("regexp", "match", pattern, "a")


def test_the_schema_of_parquet():
    stream = io.BytesIO()
    table = pa.table({"a": pa.array([1], pa.int32()), "b": ["x"], "c": [1.5], "d": [True]})
    pq.write_table(table, stream)
    script = "print(require('encoding/json').marshal(require('encoding/parquet').get_schema({})))"
    found = json.loads(run(script.replace("{}", literal(stream.getvalue()))))
    assert [(each["name"], each["type"]) for each in found] == [
        ("a", "INT32"),
        ("b", "BYTE_ARRAY"),
        ("c", "DOUBLE"),
        ("d", "BOOLEAN"),
    ]
    with pytest.raises(HookFailed, match="script:1"):
        call("encoding/parquet", "get_schema", "no Parquet")


@pytest.fixture
def echo():
    """The port of a server that answers with what it has got."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            status = int(self.headers.get("X-Status", 200))
            self.send_response(status)
            self.send_header("X-Own", "1")
            self.end_headers()
            self.wfile.write(f"{self.command} {self.path} ".encode() + body)

        do_GET = do_PUT = do_POST  # noqa: N815

        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield server.server_port
        server.shutdown()


@pytest.mark.parametrize(
    ("request_", "expected"),
    [
        ("'{url}/a?b=c'", "200\tGET /a?b=c \t1\t200 OK"),
        ("'{url}/a', 'x\\xff'", "200\tPOST /a x\N{REPLACEMENT CHARACTER}\t1\t200 OK"),
        (
            "{{url = '{url}/a', method = 'PUT', body = 'y', headers = {{['X-Status'] = '404'}}}}",
            "404\tPUT /a y\t1\t404 Not Found",
        ),
    ],
)
def test_requests_of_scripts(echo, request_, expected):
    given = request_.format(url=f"http://127.0.0.1:{echo}")
    script = f"local c, b, h, s = require('net/http').request({given}) print(c, b, h['X-Own'], s)"
    written = []
    sandbox = Sandbox(written.append, Libraries(hook_context(settings=ALLOWED)).open, lambda: None)
    sandbox.run(script.encode("latin-1"), "script")
    assert "".join(written) == expected + "\n"


def test_requests_are_guarded_and_must_be_enabled(echo):
    url = f"http://127.0.0.1:{echo}/"
    guarded = HookSettings(lua_net_http_enabled=True)
    with pytest.raises(HookFailed, match="is not permitted"):
        call("net/http", "request", url, settings=guarded)
    with pytest.raises(HookFailed, match="not enabled"):
        call("net/http", "request", url, settings=HERE)
    with pytest.raises(HookFailed, match="missing request url"):
        call("net/http", "request", {"method": "GET"}, settings=ALLOWED)
