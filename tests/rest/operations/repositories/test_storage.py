"""The report on storage over the wire."""

from __future__ import annotations


def test_branches_show_what_they_take_and_share(api, repository):
    base = f"/repositories/{repository}"
    objects = f"{base}/branches/main/objects"
    assert api.post(objects, params={"path": "a"}, content=b"x" * 10).status_code == 201
    assert api.post(f"{base}/branches/main/commits", json={"message": "a"}).status_code == 201
    assert api.post(f"{base}/branches", json={"name": "dev", "source": "main"}).status_code == 201
    objects = f"{base}/branches/dev/objects"
    assert api.post(objects, params={"path": "b"}, content=b"x" * 5).status_code == 201
    assert api.post(f"{base}/branches/dev/commits", json={"message": "b"}).status_code == 201
    report = api.get(f"{base}/storage").json()
    by_branch = {each["branch"]: each for each in report["branches"]}
    assert by_branch["main"]["total"] == {"objects": 1, "bytes": 10}
    assert by_branch["main"]["unique"] == {"objects": 0, "bytes": 0}
    assert by_branch["dev"]["total"] == {"objects": 2, "bytes": 15}
    assert by_branch["dev"]["unique"] == {"objects": 1, "bytes": 5}
    assert report["distinct"] == {"objects": 2, "bytes": 15}
    assert [point["total"]["bytes"] for point in report["growth"]] == [0, 10]
    assert report["garbage"] is None
    assert report["complete"] is True
    assert len(api.get(f"{base}/storage", params={"branch": "dev"}).json()["growth"]) == 3
    assert api.get(f"{base}/storage", params={"branch": "none"}).status_code == 404
    assert api.get(f"{base}/storage", params={"points": 1}).status_code == 400


def test_unmerged_branches_are_listed_by_age_and_size(api, repository):
    base = f"/repositories/{repository}"
    for name, size, hidden in (("old", 5, False), ("large", 50, False), ("hidden", 500, True)):
        body = {"name": name, "source": "main", "hidden": hidden}
        assert api.post(f"{base}/branches", json=body).status_code == 201
        objects = f"{base}/branches/{name}/objects"
        assert api.post(objects, params={"path": name}, content=b"x" * size).status_code == 201
        assert api.post(f"{base}/branches/{name}/commits", json={"message": "m"}).is_success
    api.post(f"{base}/branches", json={"name": "same", "source": "main"})
    path = f"{base}/unmerged_branches"
    found = api.get(path).json()
    assert {each["branch"] for each in found["results"]} == {"old", "large"}
    assert (found["number"], found["complete"]) == (2, True)
    by_size = api.get(path, params={"sort": "size", "show_hidden": True, "amount": 2}).json()
    told = [(each["branch"], each["objects"], each["bytes"]) for each in by_size["results"]]
    assert told == [("hidden", 1, 500), ("large", 1, 50)]
    assert by_size["number"] == 3
    for wrong in ({"sort": "name"}, {"amount": 0}, {"amount": 1001}):
        assert api.get(path, params=wrong).status_code == 400
    assert api.get("/repositories/nothing-here/unmerged_branches").status_code == 404
