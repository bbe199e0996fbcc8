import { expect, test } from "vitest";
import {
  Answers,
  PermissionCache,
  anyTag,
  attachmentNeeds,
  branchArn,
  commitNeeds,
  distinctNeeds,
  membershipNeeds,
  namedArn,
  namespaceArn,
  objectsBelow,
  pullNeeds,
  refusable,
  repositoryArn,
} from "$/access/own-permissions";
import { json, respond } from "../network";

const WRITE = { action: "fs:WriteObject", resource: objectsBelow("sea") };
const DELETE = { action: "fs:DeleteObject", resource: objectsBelow("sea", "data/") };

/** Responds as a server does whose user may do nothing but write. */
function serve() {
  return respond(({ query }) => {
    const resources = query.getAll("resource");
    const results = query.getAll("action").map((action, index) => {
      const allowed = action === WRITE.action;
      return { action, resource: resources[index], allowed, all: allowed };
    });
    return json({ results });
  });
}

test("resources are named as policies name them", () => {
  expect(repositoryArn("sea")).toBe("arn:lakefs:fs:::repository/sea");
  expect(objectsBelow("sea", "a/b")).toBe("arn:lakefs:fs:::repository/sea/object/a/b*");
  expect(branchArn("sea")).toBe("arn:lakefs:fs:::repository/sea/branch/*");
  expect(branchArn("sea", "dev")).toBe("arn:lakefs:fs:::repository/sea/branch/dev");
  expect(anyTag("sea")).toBe("arn:lakefs:fs:::repository/sea/tag/*");
  expect(namedArn("user")).toBe("arn:lakefs:auth:::user/*");
  expect(namedArn("group", "Crew")).toBe("arn:lakefs:auth:::group/Crew");
  expect(namespaceArn("s3://lake/sea")).toBe("arn:lakefs:fs:::namespace/s3://lake/sea");
});

test("a need that several things have is asked for once", () => {
  expect(distinctNeeds({ upload: [WRITE], rename: [{ ...WRITE }, DELETE] })).toEqual([WRITE, DELETE]);
});

test("what is refused is refused for its first missing permission", async () => {
  const requests = serve();
  const answers = await new PermissionCache().ask("ada", "main", [WRITE, DELETE]);
  expect(answers.refusal([WRITE])).toBe("");
  expect(answers.refusal([WRITE, DELETE])).toBe("You do not have the permission fs:DeleteObject for this");
  expect(answers.of(WRITE)).toMatchObject({ allowed: true, all: true });
  expect(requests).toHaveLength(1);
  expect(requests[0]?.path).toBe("/api/v1/user/permissions");
  expect(requests[0]?.query.getAll("action")).toEqual([WRITE.action, DELETE.action]);
  expect(requests[0]?.query.getAll("resource")).toEqual([WRITE.resource, DELETE.resource]);
  expect(requests[0]?.query.get("branch")).toBe("main");
});

test("what was not answered is not refused", () => {
  expect(new Answers([]).refusal([WRITE])).toBe("");
  expect(new Answers([{ ...WRITE, allowed: false, all: false }]).refusal([DELETE])).toBe("");
});

test("answers are kept for a minute, for the same user and branch", async () => {
  const requests = serve();
  let now = 0;
  const cache = new PermissionCache(() => now);
  await Promise.all([cache.ask("ada", "main", [WRITE]), cache.ask("ada", "main", [WRITE])]);
  now = 59_999;
  await cache.ask("ada", "main", [WRITE]);
  expect(requests).toHaveLength(1);
  await cache.ask("bob", "main", [WRITE]);
  await cache.ask("ada", "dev", [WRITE]);
  await cache.ask("ada", "main", [DELETE]);
  expect(requests).toHaveLength(4);
  now = 60_000;
  await cache.ask("ada", "main", [WRITE]);
  expect(requests).toHaveLength(5);
});

test("after a failure, the next page asks again", async () => {
  let fails = true;
  const requests = respond(() => (fails ? json({ message: "no" }, 500) : json({ results: [{ ...WRITE, allowed: true, all: true }] })));
  const cache = new PermissionCache(() => 0);
  await expect(cache.ask("ada", "main", [WRITE])).rejects.toMatchObject({ status: 500 });
  fails = false;
  expect((await cache.ask("ada", "main", [WRITE])).of(WRITE)?.allowed).toBe(true);
  expect(requests).toHaveLength(2);
});

test("what is attached needs permissions on its user or group, members on their group", () => {
  expect(attachmentNeeds("user", "ada").remove).toEqual([{ action: "auth:DetachPolicy", resource: namedArn("user", "ada") }]);
  expect(membershipNeeds("Crew").add).toEqual([{ action: "auth:AddGroupMember", resource: namedArn("group", "Crew") }]);
  expect(membershipNeeds().remove).toEqual([{ action: "auth:RemoveGroupMember", resource: namedArn("group") }]);
});

test("a merge of a pull request needs a change of it and a commit to its destination", () => {
  const needs = [...pullNeeds("sea"), ...commitNeeds("sea", "main")];
  const answers = (...allowed: string[]) =>
    new Answers(needs.map((need) => ({ ...need, allowed: allowed.includes(need.action), all: true })));
  expect(answers("fs:CreateCommit").refusal(needs)).toContain("pr:WritePullRequest");
  expect(answers("pr:WritePullRequest").refusal(needs)).toContain("fs:CreateCommit");
  expect(answers("pr:WritePullRequest", "fs:CreateCommit").refusal(needs)).toBe("");
  expect(needs.map(({ resource }) => resource)).toEqual([repositoryArn("sea"), branchArn("sea", "main")]);
});

test("a button is disabled for itself or because the server would refuse, which it then says", () => {
  expect(refusable("")).toEqual({ disabled: false, title: undefined });
  expect(refusable("", true)).toEqual({ disabled: true, title: undefined });
  expect(refusable("no")).toEqual({ disabled: true, title: "no" });
});
