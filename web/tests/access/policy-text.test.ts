import fc from "fast-check";
import { expect, test } from "vitest";
import { EXAMPLE, explainStatements, parseStatements, resourcesOf, toText } from "$/access/policy-text";

const statements = fc.array(
  fc.record({
    effect: fc.constantFrom("allow", "deny"),
    action: fc.array(fc.constantFrom("fs:ReadObject", "fs:*", "*", "ci:ReadAction"), { minLength: 1, maxLength: 3 }),
    // the server keeps a list of resources as text
    resource: fc.oneof(
      fc.constantFrom("*", 'arn:lakefs:fs:::repository/a"{b'),
      fc.array(fc.constantFrom("*", "arn:lakefs:fs:::repository/x"), { minLength: 2, maxLength: 3 }).map((list) => JSON.stringify(list)),
    ),
  }),
  { minLength: 1, maxLength: 4 },
);

test("statements that are written as text are read again", () => {
  fc.assert(
    fc.property(statements, (statement) => {
      const text = toText({ id: "p", statement });
      expect(parseStatements(text)).toEqual({ statements: statement, problems: [] });
    }),
  );
});

test("a document with its statements, as lakeFS writes it, is read too", () => {
  const { statements: list } = parseStatements(EXAMPLE);
  expect(list).toHaveLength(1);
  expect(parseStatements(JSON.stringify({ statement: JSON.parse(EXAMPLE) as unknown })).statements).toEqual(list);
});

test("a fault is at the line where its statement begins", () => {
  fc.assert(
    fc.property(statements, fc.nat(), fc.boolean(), (list, choice, isDocument) => {
      const wrong = choice % list.length;
      const broken = list.map((statement, index) => (index === wrong ? { note: 'a "}{" \\', ...statement, effect: "permit" } : statement));
      const text = JSON.stringify(isDocument ? { statement: broken } : broken, null, 2);
      const { statements: read, problems } = parseStatements(text);
      expect(read).toEqual([]);
      expect(problems.map(({ message }) => message)).toEqual([`statement ${wrong + 1}: \`effect\` must be "allow" or "deny"`]);
      // its first field is on the line after its brace
      const line = text.split("\n").findIndex((content) => content.includes('"note"'));
      expect(problems[0]?.line).toBe(line);
    }),
  );
});

test.each([
  ["null", 1, "expected a list of statements"],
  ['{"statement": 1}', 1, "expected a list of statements"],
  ["[1]", 1, "statement 1: expected an object"],
  ['[{"effect": "allow", "action": [], "resource": "*"}]', 1, "statement 1: `action` must be a list of names, such as fs:ReadObject"],
  ['[{"effect": "allow", "action": ["*"], "resource": ""}]', 1, "statement 1: `resource` must be an ARN, a list of ARNs, or *"],
  ['[{"effect": "allow", "action": ["*"], "resource": []}]', 1, "statement 1: `resource` must be an ARN, a list of ARNs, or *"],
])("%s has a fault", (text, line, message) => {
  expect(parseStatements(text).problems).toEqual([{ line, message }]);
});

test.each([
  ['[\n  {\n    "effect": allow\n  }\n]\n', 3],
  ['[\n  {\n    "effect": "allow",\n  }\n]\n', 4],
  ['[\n  {\n    "effect": "allow"\n    "action": []\n  }\n]\n', 4],
  ["[\n  'a'\n]\n\n\n", 2],
  ['[\n  "a\n"]\n', 2],
  ["[\n  1,\n  2\n\n", 5],
  ["", 1],
  ["[]\n]\n", 2],
])("what is not JSON has its problem at the line of the error: %j", (text, line) => {
  expect(parseStatements(text).problems.map((problem) => problem.line)).toEqual([line]);
});

test("resources are a list, or the text itself where it is none", () => {
  expect(resourcesOf("*")).toEqual(["*"]);
  expect(resourcesOf('["a","b"]')).toEqual(["a", "b"]);
  expect(resourcesOf("[a")).toEqual(["[a"]);
});

test.each([
  ["*", "everything"],
  ["fs:*", "everything about data, not pull requests"],
  ["pr:*", "everything about pull requests"],
  ["other:*", "everything about other"],
  ["constructor:*", "everything about constructor"],
  ["fs:Read*", "read anything about data"],
  ["fs:Re?d*", "what fs:Re?d* matches"],
  ["fs:ReadObject", "read object"],
  ["auth:AddGroupMember", "add group member"],
])("the action %s means: %s", (action, text) => {
  const [sentence] = explainStatements([{ effect: "allow", action: [action], resource: "*" }]);
  expect(sentence?.actions).toEqual([text]);
});

test.each([
  ["*", "everything"],
  ["arn:lakefs:fs:::*", "all repositories and what is in them"],
  ["arn:lakefs:auth:::*", "all users, groups and policies"],
  ["arn:lakefs:fs:::repository/*", "every repository"],
  ["arn:lakefs:fs:::repository/sea", "repository sea"],
  ["arn:lakefs:fs:::repository/sea/object/*", "every object in repository sea"],
  ["arn:lakefs:fs:::repository/sea/object/a/b:c", "object a/b:c in repository sea"],
  ["arn:lakefs:fs:::repository/*/branch/main", "branch main in every repository"],
  ["arn:lakefs:fs:::namespace/s3://bucket/x", "storage namespace s3://bucket/x"],
  ["arn:lakefs:auth:::user/ann", "user ann"],
])("the resource %s means: %s", (resource, text) => {
  const [sentence] = explainStatements([{ effect: "deny", action: ["*"], resource }]);
  expect(sentence).toMatchObject({ allows: false, resources: [text] });
});

test("conditions are an operator in words, or its name", () => {
  const condition = { IpAddress: { SourceIp: ["10.0.0.0/8", "::1"] }, constructor: { x: ["y"] } };
  const [sentence] = explainStatements([{ effect: "allow", action: ["*"], resource: "*", condition }]);
  expect(sentence?.conditions).toEqual(["SourceIp is in 10.0.0.0/8 or ::1", "x constructor y"]);
});

test("a condition on the branch is a sentence", () => {
  const condition = { StringEquals: { "lakefs:branch": ["main", "release"] } };
  const [sentence] = explainStatements([{ effect: "deny", action: ["fs:WriteObject"], resource: "*", condition }]);
  expect(sentence?.conditions).toEqual(["the branch is main or release"]);
});
