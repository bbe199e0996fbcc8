"""What identity providers do, as Microsoft Entra and Okta send it, has its effect here."""

from __future__ import annotations

import itertools

import httpx2
import pytest

USER, GROUP = (f"urn:ietf:params:scim:schemas:core:2.0:{kind}" for kind in ("User", "Group"))
PATCH = "urn:ietf:params:scim:api:messages:2.0:PatchOp"
_numbers = itertools.count(1)


def succeed(response, status=200):
    assert response.status_code == status, response.text
    return response.json() if response.content else None


def create_user(scim, **attributes):
    name = attributes.pop("userName", f"person-{next(_numbers)}@example.com")
    body = {"schemas": [USER], "userName": name, **attributes}
    return succeed(scim.post("/Users", json=body), 201)


def create_group(scim, *members):
    body = {
        "schemas": [GROUP],
        "displayName": f"team {next(_numbers)}",
        "members": [{"value": member["id"]} for member in members],
    }
    return succeed(scim.post("/Groups", json=body), 201)


def patch(scim, resource, *operations):
    place = resource["meta"]["location"]
    return scim.patch(place, json={"schemas": [PATCH], "Operations": list(operations)})


def member_names(api, group):
    page = succeed(api.get(f"/auth/groups/{group['id']}/members"))
    return [user["id"] for user in page["results"]]


def test_a_user_is_created_with_name_and_address(scim, api):
    user = create_user(
        scim,
        externalId="00u1",
        displayName="Ada Lovelace",
        name={"givenName": "Ada", "familyName": "Lovelace"},
        emails=[{"value": "b@example.com"}, {"value": "a@example.com", "primary": True}],
        password="not-stored",
    )
    assert user["active"] is True
    assert "password" not in user
    stored = succeed(api.get(f"/auth/users/{user['id']}"))
    assert (stored["friendly_name"], stored["email"]) == ("Ada Lovelace", "a@example.com")
    assert succeed(scim.get(user["meta"]["location"])) == user


@pytest.mark.parametrize(
    ("query", "attribute"),
    [('userName eq "{}"', "userName"), ('externalId eq "{}"', "externalId")],
)
def test_users_are_found_by_a_filter(scim, query, attribute):
    user = create_user(scim, externalId=f"ext-{next(_numbers)}")
    page = succeed(scim.get("/Users", params={"filter": query.format(user[attribute])}))
    assert [each["id"] for each in page["Resources"]] == [user["id"]]
    assert page["totalResults"] == 1
    shouted = query.format(user[attribute].upper())
    total = succeed(scim.get("/Users", params={"filter": shouted}))["totalResults"]
    assert total == (1 if attribute == "userName" else 0)


def test_a_displayed_name_is_not_taken_for_the_name(scim):
    user = create_user(scim, displayName="username eq")
    page = succeed(scim.get("/Users", params={"filter": 'displayName eq "username EQ"'}))
    assert [each["id"] for each in page["Resources"]] == [user["id"]]
    shouted = f'USERNAME EQ "{user["userName"].upper()}"'
    page = succeed(scim.get("/Users", params={"filter": shouted}))
    assert [each["id"] for each in page["Resources"]] == [user["id"]]


def test_groups_are_found_by_a_filter(scim):
    group = create_group(scim)
    query = f'displayName eq "{group["displayName"].upper()}"'
    page = succeed(scim.get("/Groups", params={"filter": query}))
    assert [each["id"] for each in page["Resources"]] == [group["id"]]


def test_pages_hold_each_user_once(scim):
    wanted = {create_user(scim)["id"] for _ in range(5)}
    found = []
    for start in itertools.count(1, 2):
        params = {"startIndex": start, "count": 2, "sortBy": "userName"}
        page = succeed(scim.get("/Users", params=params))
        if not page.get("Resources"):
            break
        found += [each["id"] for each in page["Resources"]]
    assert len(found) == len(set(found)) == page["totalResults"]
    assert wanted <= set(found)


@pytest.mark.parametrize(
    "operation",
    [
        {"op": "replace", "value": {"active": False}},  # Okta
        {"op": "Replace", "path": "active", "value": "False"},  # Microsoft Entra
    ],
)
def test_a_deactivated_user_cannot_authenticate(server, scim, api, operation):
    user = create_user(scim)
    pair = succeed(api.post(f"/auth/users/{user['id']}/credentials"), 201)
    keys = pair["access_key_id"], pair["secret_access_key"]
    place = f"{server.api}/user"
    assert httpx2.get(place, auth=keys).status_code == 200
    assert succeed(patch(scim, user, operation))["active"] is False
    assert httpx2.get(place, auth=keys).status_code == 401
    # leaving `active` out activates no user
    body = {"schemas": [USER], "userName": user["userName"]}
    assert succeed(scim.put(user["meta"]["location"], json=body))["active"] is False
    operation = {"op": "replace", "path": "active", "value": True}
    assert succeed(patch(scim, user, operation))["active"] is True
    assert httpx2.get(place, auth=keys).status_code == 200


def test_members_of_groups_follow(scim, api):
    one, two, three = (create_user(scim) for _ in range(3))
    group = create_group(scim, one)
    assert member_names(api, group) == [one["id"]]
    value = [{"value": two["id"]}, {"value": three["id"]}]
    succeed(patch(scim, group, {"op": "add", "path": "members", "value": value}))
    assert member_names(api, group) == sorted([one["id"], two["id"], three["id"]])
    path = f'members[value eq "{one["id"]}"]'
    succeed(patch(scim, group, {"op": "remove", "path": path}))
    value = [{"value": two["id"]}]  # as Microsoft Entra removes
    succeed(patch(scim, group, {"op": "Remove", "path": "members", "value": value}))
    assert member_names(api, group) == [three["id"]]
    user = succeed(scim.get(three["meta"]["location"]))
    assert [each["value"] for each in user["groups"]] == [group["id"]]
    assert scim.delete(group["meta"]["location"]).status_code == 204
    assert scim.get(group["meta"]["location"]).status_code == 404


def test_a_deleted_user_leaves_nothing(scim, api):
    user = create_user(scim, title="Countess")
    group = create_group(scim, user)
    assert scim.delete(user["meta"]["location"]).status_code == 204
    assert scim.delete(user["meta"]["location"]).status_code == 404
    assert api.get(f"/auth/users/{user['id']}").status_code == 404
    assert member_names(api, group) == []
    again = create_user(scim, userName=user["userName"])
    assert "title" not in again


def test_external_ids_belong_to_one_user_until_they_are_changed(scim):
    first = create_user(scim, externalId="object-1")
    body = {"schemas": [USER], "userName": "second@example.com", "externalId": "object-1"}
    taken = scim.post("/Users", json=body)
    assert (taken.status_code, taken.json()["scimType"]) == (409, "uniqueness")
    changed = patch(scim, first, {"op": "replace", "path": "externalId", "value": "object-2"})
    assert succeed(changed)["externalId"] == "object-2"
    second = succeed(scim.post("/Users", json=body), 201)
    assert scim.delete(second["meta"]["location"]).status_code == 204
    assert create_user(scim, externalId="object-1")["externalId"] == "object-1"


@pytest.mark.parametrize(
    ("body", "status", "kind"),
    [
        ({"userName": "TESTER"}, 409, "uniqueness"),
        ({"userName": "a/b"}, 400, "invalidValue"),
        ({"userName": "a*"}, 400, "invalidValue"),
        ({}, 400, "invalidValue"),
        ({"userName": "ada", "emails": "x"}, 400, "invalidValue"),
    ],
)
def test_bad_users_are_refused(scim, body, status, kind):
    before = succeed(scim.get("/Users"))["totalResults"]
    response = scim.post("/Users", json={"schemas": [USER], **body})
    error = succeed(response, status)
    assert response.headers["content-type"] == "application/scim+json"
    assert (error["status"], error["scimType"]) == (str(status), kind)
    assert succeed(scim.get("/Users"))["totalResults"] == before


def test_names_do_not_change(scim):
    user, group = create_user(scim), create_group(scim)
    operation = {"op": "replace", "path": "userName", "value": "other"}
    assert succeed(patch(scim, user, operation), 400)["scimType"] == "mutability"
    operation = {"op": "replace", "path": "displayName", "value": "other"}
    assert succeed(patch(scim, group, operation), 400)["scimType"] == "mutability"


def test_a_repeated_parameter_is_refused(scim):
    assert succeed(scim.get("/Users?count=1&count=2"), 400)["scimType"] == "invalidValue"


def test_an_unknown_member_is_refused(scim, api):
    group = create_group(scim)
    operation = {"op": "add", "path": "members", "value": [{"value": "nobody"}]}
    assert succeed(patch(scim, group, operation), 400)["scimType"] == "invalidValue"
    assert member_names(api, group) == []


def test_the_last_administrator_stays(scim, api):
    location = succeed(scim.get("/Users", params={"filter": 'userName eq "tester"'}))["Resources"]
    admin = location[0]
    operation = {"op": "replace", "path": "active", "value": False}
    assert patch(scim, admin, operation).status_code == 409
    assert scim.delete(admin["meta"]["location"]).status_code == 409
    assert scim.delete("/Groups/Admins").status_code == 409
    assert api.get("/auth/users/tester").status_code == 200


@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "PATCH", "DELETE"])
@pytest.mark.parametrize("authorization", ["", "Bearer wrong", "Basic eDp5", "Bearer"])
@pytest.mark.sample(8)
def test_nothing_works_without_the_token(server, method, authorization):
    headers = {"authorization": authorization} if authorization else {}
    for path in ("Users", "Users/tester", "ServiceProviderConfig", "nothing"):
        url = f"{server.url}/scim/v2/{path}"
        response = httpx2.request(method, url, headers=headers)
        assert response.status_code in {401, 429}
        assert response.json()["schemas"] == ["urn:ietf:params:scim:api:messages:2.0:Error"]


def test_wrong_tokens_do_not_lock_the_provider_out(server, scim):
    for _ in range(30):
        httpx2.get(f"{server.url}/scim/v2/Users", headers={"authorization": "Bearer wrong"})
    assert scim.get("/Users").status_code == 200
