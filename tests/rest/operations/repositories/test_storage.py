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
