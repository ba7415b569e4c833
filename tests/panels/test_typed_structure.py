"""Values of typed panels, in and out: structured strictly, and back again unchanged (G-2)."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import attrs
import pytest
from attrs import frozen
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from deska_sdk.errors import InvalidValue
from deska_sdk.panels.typed import (
    DeskaFile,
    DeskaImage,
    MaxItems,
    MaxLength,
    StaleManifest,
)
from deska_sdk.panels.typed.structure import structurer, unstructurer
from deska_sdk.problems import Rule
from deska_sdk.schema import compile_schema
from tests.panels.support_typed import Mood, classes, shape_of

some = settings(
    max_examples=100,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)

#: Faults of the kind of a value; the others are about how much of it there is.
OF_KIND = {
    Rule.UNKNOWN_PROPERTY,
    Rule.MISSING_PROPERTY,
    Rule.WRONG_TYPE,
    Rule.NOT_IN_ENUM,
    Rule.FRACTION,
}

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-9, 9)
    | st.floats(-2, 2)
    | st.sampled_from(["", "5", "a", "calm", "None", "abc"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["text", "note", "cl", "res"]), inner, max_size=3)
    ),
    max_leaves=6,
)


class Blob:
    """Stands for the class a host gives images by."""


@frozen
class Caption:
    text: Annotated[str, MaxLength(9)]
    loud: bool = False


@frozen
class Everything:
    text: Annotated[str, MaxLength(9)]
    count: int
    size: float
    loud: bool
    kind: Literal["a", "b"]
    mood: Mood
    texts: Annotated[list[Annotated[str, MaxLength(9)]], MaxItems(3)]
    captions: Annotated[list[Caption], MaxItems(3)]
    caption: Caption
    image: Annotated[Blob, DeskaImage()]
    more: Annotated[str, MaxLength(9)] | None = None


def everything(**changes: Any) -> dict[str, Any]:
    return {
        "text": "x",
        "count": 3,
        "size": 2.5,
        "loud": True,
        "kind": "a",
        "mood": "not-calm",
        "texts": ["y"],
        "captions": [{"text": "z", "loud": True}],
        "caption": {"text": "w"},
        "image": Blob(),
        **changes,
    }


@pytest.mark.rule("G-2", "D-9")
@some
@given(example=classes(), data=st.data())
def test_what_fits_the_schema_of_a_class_comes_back_as_it_went_in(example, data):
    value = data.draw(example.values)
    for side in ("input", "output"):
        shape = shape_of(example.annotation, side)
        heard = compile_schema(shape.schema, side).check(value)
        made = structurer(shape)(heard)
        assert type(made) is example.annotation
        assert unstructurer(shape)(made) == value
        assert structurer(shape)(unstructurer(shape)(made)) == made


@pytest.mark.rule("G-2", "D-8", "D-9")
@some
@given(example=classes(), data=st.data())
def test_what_is_of_another_kind_than_the_schema_says_is_never_made_to_fit(example, data):
    shape = shape_of(example.annotation)
    value = data.draw(example.values)
    for name in data.draw(st.sets(st.sampled_from(["text", "note", "cl", "res"]), max_size=2)):
        value = {**value, name: data.draw(JSON)}
    try:
        compile_schema(shape.schema).check(value)
    except InvalidValue as refused:
        if OF_KIND & {fault.rule for fault in refused.faults} and not refused.more:
            with pytest.raises(StaleManifest):
                structurer(shape)(value)
    else:
        handed_on = compile_schema(shape.schema).check(value)
        assert unstructurer(shape)(structurer(shape)(handed_on)) == handed_on


@pytest.mark.rule("G-2")
def test_every_kind_of_property_becomes_what_its_annotation_says():
    blob = Blob()
    made = structurer(shape_of(Everything, page=globals()))(everything(image=blob, more="q"))
    assert made == Everything(
        text="x",
        count=3,
        size=2.5,
        loud=True,
        kind="a",
        mood=Mood.WILD,
        texts=["y"],
        captions=[Caption("z", loud=True)],
        caption=Caption("w"),
        image=blob,
        more="q",
    )
    assert made.mood is Mood.WILD
    assert made.image is blob


@pytest.mark.rule("G-2", "D-8", "D-9")
@pytest.mark.parametrize(
    "changes",
    [
        {"count": "3"},
        {"count": True},
        {"count": 3.0},
        {"size": "2.5"},
        {"size": False},
        {"loud": 1},
        {"loud": "true"},
        {"text": None},
        {"text": 5},
        {"text": Mood.CALM},
        {"more": None},
        {"kind": "c"},
        {"kind": ["a"]},
        {"mood": "CALM"},
        {"mood": Mood.CALM},
        {"texts": "abc"},
        {"texts": ("y",)},
        {"texts": {"y": "y"}},
        {"texts": [5]},
        {"caption": Caption("w")},
        {"caption": [["text", "w"]]},
        {"caption": {}},
        {"caption": {"text": "w", "extra": 1}},
        {"caption": {"text": "w", 5: 1}},
        {"captions": [{"text": "w"}, None]},
        {"image": "a/path.png"},
        {"image": None},
        {"extra": "SECRET"},
    ],
)
def test_nothing_is_coerced_and_nothing_of_it_is_in_the_error(changes):
    with pytest.raises(StaleManifest) as caught:
        structurer(shape_of(Everything, page=globals()))(everything(**changes))
    error = caught.value
    assert str(error).startswith("panel.json was not made from this page")
    assert error.__context__ is None
    assert error.__cause__ is None


@pytest.mark.rule("G-2", "D-8")
def test_a_number_without_a_fraction_stays_an_int_where_a_float_may_stand():
    made = structurer(shape_of(Everything, page=globals()))(everything(size=2))
    assert type(made.size) is int


@pytest.mark.rule("G-2", "R-4")
def test_a_revision_that_was_put_back_may_be_longer_than_its_limit():
    made = structurer(shape_of(Everything, page=globals()))(everything(text="revision-" * 5))
    assert made.text == "revision-" * 5


@frozen
class Answer:
    notes: Annotated[list[Caption], MaxItems(3)]
    mood: Mood = Mood.CALM
    file: Annotated[str, DeskaFile()] | None = None


@pytest.mark.rule("G-2")
def test_an_answer_leaves_out_none_and_keeps_every_other_default():
    take = unstructurer(shape_of(Answer, "output", globals()))
    assert take(Answer([Caption("a")])) == {
        "notes": [{"text": "a", "loud": False}],
        "mood": "calm",
    }
    told = take(Answer([], Mood.WILD, "f" * 36))
    assert told == {"notes": [], "mood": "not-calm", "file": "f" * 36}
    assert type(told["mood"]) is str
    assert list(told) == ["notes", "mood", "file"]


@attrs.frozen
class Louder(Caption):
    shout: bool = True


@pytest.mark.rule("G-2", "A-5")
@pytest.mark.parametrize(
    "answer",
    [
        None,
        {"notes": 5},
        Caption("a"),
        Answer("abc"),
        Answer((Caption("a"),)),
        Answer([Louder("a")]),
        Answer([Caption(5)]),
        Answer([None]),
        Answer([], mood="wild"),
        Answer([], mood=5),
        Answer([], file=b"f"),
    ],
)
def test_an_answer_of_the_wrong_class_is_refused_by_the_checker_and_not_made_to_fit(answer):
    shape = shape_of(Answer, "output", globals())
    told = unstructurer(shape)(answer)
    with pytest.raises(InvalidValue):
        compile_schema(shape.schema, "output").examine(told)
