"""Random Lakefiles over random repositories, compared with a model of dictionaries."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.session.hypothesis_profiles import examples

from anabranch.errors import NotFound
from anabranch.model.lakefile.instructions import Add, From, Lakefile
from anabranch.model.uri import LakeUri
from anabranch.patterns.glob import glob

NAMES = ["a", "b", "a/x", "a/y", "a/b/x", "b/x", "c/a/y", "c/z"]
CONTENTS = st.dictionaries(st.sampled_from(NAMES), st.binary(max_size=3), max_size=6)
PREFIXES = ["", "a/", "a/b/", "b/", "c/"]
_tags = itertools.count()


REFERENCES = st.integers(0, 5)
"""The number of a reference: one of the commits, or of the images that were built."""


FOLDERS = st.tuples(
    REFERENCES,
    st.sampled_from(PREFIXES),
    st.sampled_from(PREFIXES),
    st.lists(st.sampled_from(["*x", "a/*", "?", "{b,z}"]), max_size=2),
)
OBJECTS = st.tuples(REFERENCES, st.sampled_from(NAMES), st.sampled_from(NAMES), st.just([]))
IMAGES = st.tuples(st.none() | REFERENCES, st.lists(FOLDERS | OBJECTS, max_size=5))


def to_lakefile(drawn, references):
    """Returns a Lakefile, given the numbers of the references of its base and layers."""
    base, layers = drawn
    return Lakefile(
        base=From() if base is None else From(source=LakeUri(*references[base % len(references)])),
        layers=tuple(
            Add(
                source=LakeUri(*references[number % len(references)], key),
                destination=destination,
                exclude=tuple(exclude),
            )
            for number, key, destination, exclude in layers
        ),
    )


def model_image(lakefile, contents):
    """Returns the expected contents of the image and the number of replaced objects, None if an
    object does not exist.
    """
    image, shadowed = {}, 0
    base = lakefile.base.source
    base_layers = [Add(source=base, destination="")] if base else []
    for layer in (*base_layers, *lakefile.layers):
        objects = contents[layer.source.repository, layer.source.ref]
        key = layer.source.key
        if layer.is_prefix:
            added = {
                layer.destination + path.removeprefix(key): content
                for path, content in objects.items()
                if path.startswith(key)
                and not any(
                    glob(pattern).matches(path.removeprefix(key)) for pattern in layer.exclude
                )
            }
        else:
            added = {layer.destination: objects[key]} if key in objects else None
        if added is None:
            return None
        shadowed += len(image.keys() & added.keys())
        image |= added
    return image, shadowed


@settings(
    max_examples=examples(40),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(
    commits=st.lists(st.tuples(st.sampled_from(["sea", "sky"]), CONTENTS), min_size=1, max_size=3),
    drawn=st.lists(IMAGES, min_size=1, max_size=3),
)
def test_images_equal_the_model(images, lake, commits, drawn):
    contents = {}
    for name, objects in commits:
        current = images.contents("main", name)
        changes = {path: None for path in current if path not in objects} | objects
        if current != objects:
            images.commit(name, changes)
        contents[name, lake.commits.get(name, "main").id] = objects
    for instructions in drawn:
        lakefile = to_lakefile(instructions, list(contents))
        model = model_image(lakefile, contents)
        if model is None:
            with pytest.raises(NotFound, match="there is no such object"):
                images.resolve("none", str(lakefile), allow_empty=True)
            continue
        expected, shadowed = model
        tag = f"v{next(_tags)}"
        image = images.build(tag, str(lakefile), allow_empty=True)
        assert images.contents(tag) == expected
        assert (image.plan.objects, image.plan.shadowed) == (len(expected), shadowed)
        assert image.plan.size == sum(map(len, expected.values()))
        contents["image", tag] = expected
