"""Documents of users: Lakefiles, policies, merge rules, action files."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import yaml
from fuzz.shapes import JSON, YAML
from fuzz.target import Refused, Target, outcome, refusals

from anabranch.access.policies.policies import Policy as StoredPolicy
from anabranch.access.policies.policies import decode_policy, encode_policy
from anabranch.access.policies.policy_documents import parse_statement
from anabranch.access.policies.statements import Statement
from anabranch.actions.files.action import Action
from anabranch.actions.files.action_file import parse_action_file
from anabranch.actions.files.yaml_document import parse_yaml
from anabranch.actions.hooks.registry import make_hook
from anabranch.model.lakefile.instructions import Add, From, Lakefile
from anabranch.model.lakefile.parser import parse_lakefile
from anabranch.rest.operations.access.policies import Policy
from anabranch.rest.protocol.call import Request
from anabranch.rest.protocol.decoding import BodyDecoder
from anabranch.versioning.merging.rules_file import MAX_BYTES, parse_rules

__all__ = ["TARGETS"]

_POLICY = BodyDecoder(Policy)
_JSON_HEADERS = {"content-type": "application/json"}


def check_lakefile(data: bytes) -> None:
    found = outcome(parse_lakefile, data, {})
    if isinstance(found, Refused):
        return
    assert isinstance(found, Lakefile)
    again = parse_lakefile(str(found).encode(), {})
    assert _unnumbered(again) == _unnumbered(found)


def _unnumbered(lakefile: Lakefile) -> Lakefile:
    replace = msgspec.structs.replace
    return replace(
        lakefile,
        base=From(source=lakefile.base.source),
        layers=tuple(Add(**{**msgspec.structs.asdict(a), "line": 0}) for a in lakefile.layers),
    )


def check_policy(data: bytes) -> None:
    found = outcome(_statements, data)
    if isinstance(found, Refused):
        return
    assert isinstance(found, tuple)
    stored = StoredPolicy(id="p", created_at=0, statements=found)
    assert decode_policy("p", encode_policy(stored)) == stored


def _statements(data: bytes) -> tuple[Statement, ...]:
    body = _POLICY.decode(Request({}, "", _JSON_HEADERS, body=data))
    return tuple(
        parse_statement(
            number,
            *(each.effect, each.action, each.resource),
            None if each.condition is msgspec.UNSET else each.condition,
        )
        for number, each in enumerate(body.statement, start=1)
    )


def check_rules(data: bytes) -> None:
    if len(data) > MAX_BYTES:
        return
    found = outcome(parse_rules.__wrapped__, data)
    if isinstance(found, Refused):
        return
    theirs = (_texts(data) or {}).get("rules", ())
    assert [(rule.path, rule.strategy) for rule in found] == [
        (each["path"], each["strategy"]) for each in theirs
    ]


def _texts(data: bytes) -> Any:
    """Returns what YAML is to the library, if all scalars are texts."""
    return yaml.load(data.decode("utf-8-sig"), Loader=yaml.CBaseLoader)  # noqa: S506  of texts


def check_action(data: bytes) -> None:
    found = outcome(parse_action_file, data, "_lakefs_actions/a.yaml", make_hook)
    if not isinstance(found, Refused):
        assert isinstance(found, Action)
        assert found.hooks
        repr(found).encode()
        assert [hook.id for hook in found.hooks] == [each["id"] for each in _texts(data)["hooks"]]
    with refusals():
        json.dumps(parse_yaml(data, "a.yaml").plain()).encode()


_ALLOW = {"effect": "allow", "action": ["fs:*"], "resource": "*"}

TARGETS = (
    Target(
        "lakefile",
        check_lakefile,
        lambda: (
            (
                b"# base\nARG DATE=2026-01-01\nFROM lakefs://repo/main\n"
                b'ADD --exclude="*.tmp" lakefs://raw/main/${DATE}/ raw/\\\n\n'
                b"ADD s3://bucket/a/b.csv 'x y'/b.csv\nLABEL author=\"Jane \\\"D\\\" Doe\" k='$5'\n"
            ),
            b"FROM scratch\r\nADD lakefs://r/v1~2/a/ /\r\nLABEL a=b c=\xc3\xa9\r\n",
            b"ARG A=x\nARG B=${A}${A}${A}${A}\nARG C=${B}${B}${B}${B}\nLABEL c=${C}${C}\n",
            b"FROM lakefs://image:base\n",
        ),
        (
            *(b"\nFROM ", b"\nADD ", b"\nLABEL ", b"\nARG ", b"--exclude=", b"${A}", b"\\\n"),
            *(b'"', b"'", b"\\", b"scratch", b"lakefs://", b"local://", b"s3://", b"=", b"#"),
            *(b"{a,b}", b"[a-z]", b"**/", b"\xef\xbb\xbf", b"~1", b"@{yesterday}", b"$", b"\r\n"),
        ),
    ),
    Target(
        "policy",
        check_policy,
        lambda: (
            json.dumps({"id": "p", "statement": [_ALLOW]}).encode(),
            json.dumps(
                {
                    "id": "p2",
                    "creation_date": 1,
                    "statement": [
                        {
                            "effect": "deny",
                            "action": ["fs:WriteObject", "fs:Delete*"],
                            "resource": '["arn:lakefs:fs:::repository/a/object/*"]',
                            "condition": {
                                "IpAddress": {"SourceIp": ["10.0.0.0/8"]},
                                "StringLike": {"Branch": ["main"]},
                            },
                        },
                        {
                            "effect": "allow",
                            "action": ["auth:*"],
                            "resource": "arn:lakefs:auth:::user/${user}",
                        },
                    ],
                }
            ).encode(),
        ),
        (
            *(b"arn:lakefs:fs:::repository/*", b"${user}", b"fs:*", b"*", b"?", b"[", b"fs:ReadO*"),
            *(b"allow", b"deny", b"condition", b"SourceIp", b"IpAddress", b"::/0", b"StringLike"),
            *(b"*" * 40, b"a*" * 40, b'["*"]', b"catalog:A*", b"DateLessThan", b"1.2.3.4/33"),
        ),
        JSON,
    ),
    Target(
        "merge_rules",
        check_rules,
        lambda: (
            (
                b'rules:\n  - {path: "tables/*.csv", strategy: rows, key: [id]}\n'
                b'  - {path: "models/**", strategy: source-wins}\n'
            ),
            (
                b"rules:\n- path: t/\n  strategy: delta\n- path: 'a/{b,c}/*.parquet'\n"
                b"  strategy: rows\n  key: [a, b]\n  on_conflict: source\n"
            ),
            b"rules: []\n",
            b"",
        ),
        (
            *(b"- ", b": ", b"\n  ", b"rules:", b"path: ", b"strategy: ", b"rows", b"key: "),
            *(b"&a ", b"*a", b"<<: ", b"!!binary ", b"!!timestamp ", b"!!python/object:a ", b"? "),
            *(b"2026-01-01T00:00:00Z", b"0x_", b".inf", b"1:2:3", b"!!set {a}", b"|\n", b"---\n"),
            *(
                b"!!int ",
                b"!!bool ",
                b"!!float ",
                b"0o8",
                b"\t",
                b"%YAML 1.1\n",
                b"=",
                b"0b2",
                b"190:20:30",
            ),
        ),
        YAML,
    ),
    Target(
        "action_file",
        check_action,
        lambda: (
            (
                b"name: good files\non:\n  pre-merge:\n    branches: [main, 'stable-*']\nhooks:\n"
                b"  - id: no_temporary_files\n    type: check\n    if: success()\n"
                b"    properties: {allowed_formats: [parquet], max_size: 1000}\n"
            ),
            (
                b"name: w\non: {post-commit: }\nhooks:\n- id: hook\n  type: webhook\n"
                b"  properties:\n    url: http://example.com/hook\n    timeout: 1m30s\n"
                b"    query_params: {a: [b, '{{ ENV.A }}']}\n"
            ),
            (
                b"name: l\non: {pre-create-tag: }\nhooks:\n- id: script\n  type: lua\n"
                b"  description: d\n  properties:\n    script: |\n      print(1)\n"
                b"    args: {a: 1, b: [1.5, true, null]}\n"
            ),
            (
                b"name: a\non: {post-merge: }\nhooks:\n- id: dag\n  type: airflow\n  properties:\n"
                b"    {url: 'http://a', dag_id: d, username: u, password: p, dag_conf: {a: b}}\n"
            ),
        ),
        (
            *(b"- ", b": ", b"\n  ", b"hooks:", b"on:", b"type: ", b"properties:", b"branches:"),
            *(
                b"&a ",
                b"*a",
                b"<<: ",
                b"!!binary ",
                b"!x ",
                b"? ",
                b"|\n",
                b"---\n",
                b"{{ ENV.A }}",
            ),
            *(b"1e999", b".nan", b"1h", b"-1s", b"99999999999h", b"http://[", b"http://a:x", b"'"),
            *(b'"\\ud800"', b'"\\x00"', b"~", b"true", b"always()", b"failure()", b"success() &&"),
        ),
        YAML,
    ),
)
