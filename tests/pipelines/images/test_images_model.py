"""Random Lakefiles over random repositories, against dictionaries."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from anabranch.errors import NotFound
from anabranch.model.glob import glob
from anabranch.model.lakefile.instructions import Add, From, Lakefile
from anabranch.model.uri import LakeUri

NAMES = ["a", "b", "a/x", "a/y", "a/b/x", "b/x", "c/a/y", "c/z"]
CONTENTS = st.dictionaries(st.sampled_from(NAMES), st.binary(max_size=3), max_size=6)
PREFIXES = ["", "a/", "a/b/", "b/", "c/"]
_tags = itertools.count()


PLACES = st.integers(0, 5)
"""The index of a reference: one of the commits or of the images."""


FOLDERS = st.tuples(
    PLACES,
    st.sampled_from(PREFIXES),
    st.sampled_from(PREFIXES),
    st.lists(st.sampled_from(["*x", "a/*", "?", "{b,z}"]), max_size=2),
)
OBJECTS = st.tuples(PLACES, st.sampled_from(NAMES), st.sampled_from(NAMES), st.just([]))
IMAGES = st.tuples(st.none() | PLACES, st.lists(FOLDERS | OBJECTS, max_size=5))


def lakefile_of(drawn, references):
    """Returns the Lakefile of a base and layers that name references by number."""
    base, layers = drawn
    return Lakefile(
        base=From() if base is None else From(source=LakeUri(*references[base % len(references)])),
        layers=tuple(
            Add(
                source=LakeUri(*references[place % len(references)], key),
                destination=destination,
                exclude=tuple(exclude),
            )
            for place, key, destination, exclude in layers
        ),
    )


def laid(lakefile, contents):
    """Returns the expected objects of an image, by dictionaries, and the number of hidden ones."""
    held, shadowed = {}, 0
    base = lakefile.base.source
    steps = [Add(source=base, destination="")] if base else []
    for layer in (*steps, *lakefile.layers):
        objects = contents[layer.source.repository, layer.source.ref]
        key = layer.source.key
        if layer.is_prefix:
            added = {
                layer.destination + path.removeprefix(key): content
                for path, content in objects.items()
                if path.startswith(key)
                and not any(glob(each).matches(path.removeprefix(key)) for each in layer.exclude)
            }
        else:
            added = {layer.destination: objects[key]} if key in objects else None
        if added is None:
            return None
        shadowed += len(held.keys() & added.keys())
        held |= added
    return held, shadowed


@settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(
    commits=st.lists(st.tuples(st.sampled_from(["sea", "sky"]), CONTENTS), min_size=1, max_size=3),
    drawn=st.lists(IMAGES, min_size=1, max_size=3),
)
def test_images_are_what_dictionaries_are(images, lake, commits, drawn):
    contents = {}
    for name, wanted in commits:
        now = images.contents("main", name)
        changes = {path: None for path in now if path not in wanted} | wanted
        if now != wanted:
            images.commit(name, changes)
        contents[name, lake.commits.get(name, "main").id] = wanted
    for each in drawn:
        lakefile = lakefile_of(each, list(contents))
        model = laid(lakefile, contents)
        if model is None:
            with pytest.raises(NotFound, match="there is no such object"):
                images.resolve("none", str(lakefile), allow_empty=True)
            continue
        held, shadowed = model
        tag = f"v{next(_tags)}"
        image = images.build(tag, str(lakefile), allow_empty=True)
        assert images.contents(tag) == held
        assert (image.plan.objects, image.plan.shadowed) == (len(held), shadowed)
        assert image.plan.size == sum(map(len, held.values()))
        contents["image", tag] = held
