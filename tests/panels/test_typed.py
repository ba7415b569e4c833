"""Typed panels: the panel.json that classes make, and the classes that make none (G-2)."""

from __future__ import annotations

import enum
import functools
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Generic, Literal, NamedTuple, Optional, TypeVar, Union

import attrs
import pytest
from attrs import evolve, field, frozen

from deska_sdk.limits import DEFAULT_LIMITS
from deska_sdk.panels.check import check_panel
from deska_sdk.panels.consent import sheet_of
from deska_sdk.panels.typed import (
    Description,
    DeskaFile,
    DeskaImage,
    Maximum,
    MaxItems,
    MaxLength,
    Minimum,
    Nothing,
    Panel,
    PanelDefinitionError,
    WriteAnswer,
)
from tests.panels.support_typed import Mood, handler_of, shape_of

EXAMPLES = Path(__file__).parents[2] / "examples"

Short = Annotated[str, MaxLength(9)]


def a_panel(**changes: Any) -> Panel:
    return Panel(**{"id": "notes", "name": "Notes", "version": "1.0.0", **changes})


def made(**fields: Any) -> Any:
    """An attrs class ``Made``; a field is its annotation, or attrs' own description of it."""
    described = {
        name: one if type(one).__name__ == "_CountingAttr" else field(type=one)
        for name, one in fields.items()
    }
    return attrs.make_class("Made", described, frozen=True, kw_only=True)


# -- what is made


class Blob:
    """Stands for the class a host gives images by."""


@frozen
class Caption:
    text: Annotated[Short, Description("One line.")]
    loud: bool = False


@frozen
class Given:
    kind: Literal["b", "a"]
    mood: Annotated[Mood, MaxLength(8), Description("How it feels.")]
    count: Annotated[int, Maximum(9), Minimum(1)]
    size: float
    captions: Annotated[list[Annotated[Caption, Description("One.")]], MaxItems(3)]
    image: Annotated[Blob, DeskaImage(max_length=99)]
    before: Annotated[Short | None, Description("Optional.")] = None
    after: Annotated[Short, Description("Optional, too.")] | None = None
    other: Optional[Short] = None  # noqa: UP045 - the older way to write it counts alike


@frozen
class Answered:
    file: Annotated[str, DeskaFile()]
    files: Annotated[list[Annotated[str, DeskaFile(max_length=40)]], MaxItems(2)]


@pytest.mark.rule("G-2", "D-1", "D-3", "D-4", "D-5")
def test_a_class_and_its_limits_make_the_schema():
    caption = {
        "type": "object",
        "description": "One.",
        "properties": {
            "text": {"type": "string", "maxLength": 9, "description": "One line."},
            "loud": {"type": "boolean"},
        },
        "required": ["text"],
    }
    assert shape_of(Given, page=globals()).schema == {
        "type": "object",
        "properties": {
            "kind": {"type": "string", "enum": ["b", "a"]},
            "mood": {
                "type": "string",
                "enum": ["calm", "not-calm"],
                "maxLength": 8,
                "description": "How it feels.",
            },
            "count": {"type": "integer", "minimum": 1, "maximum": 9},
            "size": {"type": "number"},
            "captions": {"type": "array", "maxItems": 3, "items": caption},
            "image": {"type": "string", "maxLength": 99, "format": "deska-image"},
            "before": {"type": "string", "maxLength": 9, "description": "Optional."},
            "after": {"type": "string", "maxLength": 9, "description": "Optional, too."},
            "other": {"type": "string", "maxLength": 9},
        },
        "required": ["kind", "mood", "count", "size", "captions", "image"],
    }
    file = {"type": "string", "format": "deska-file"}
    assert shape_of(Answered, "output", globals()).schema == {
        "type": "object",
        "properties": {
            "file": {**file, "maxLength": 36},
            "files": {"type": "array", "maxItems": 2, "items": {**file, "maxLength": 40}},
        },
        "required": ["file", "files"],
    }


@pytest.mark.rule("G-2")
def test_a_class_without_a_field_makes_the_smallest_schema():
    assert shape_of(Nothing).schema == {"type": "object"}
    described = Annotated[Nothing, Description("None is needed.")]
    assert shape_of(described).schema == {"type": "object", "description": "None is needed."}


@pytest.mark.rule("G-2")
def test_the_fields_of_a_base_class_are_read_where_it_was_written(tmp_path, monkeypatch):
    (tmp_path / "a_base.py").write_text(
        "from __future__ import annotations\n"
        "from typing import Annotated\n"
        "from attrs import frozen\n"
        "from deska_sdk.panels.typed import MaxLength\n"
        "Short = Annotated[str, MaxLength(3)]\n"
        "@frozen\n"
        "class Base:\n"
        "    first: Short\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    import a_base

    page = {"__name__": "a_page", "Base": a_base.Base}
    exec(
        "from __future__ import annotations\n"
        "from attrs import frozen\n"
        "from tests.panels.test_typed import Short\n"
        "@frozen\n"
        "class Derived(Base):\n"
        "    second: Short\n",
        page,
    )
    # The page's module is in no sys.modules, and its ``Short`` is another one.
    schema = shape_of(page["Derived"], page=page).schema
    assert schema["properties"]["first"]["maxLength"] == 3
    assert schema["properties"]["second"]["maxLength"] == 9


@pytest.mark.rule("G-2")
def test_the_typed_nook_has_the_panel_json_of_the_plain_one():
    plain, typed = (
        check_panel((EXAMPLES / name / "panel.json").read_bytes()).manifest
        for name in ("nook", "nook_typed")
    )
    assert json.loads(typed.text) == json.loads(plain.text)
    assert sheet_of(typed).fingerprint == sheet_of(plain).fingerprint


@pytest.mark.rule("G-2")
@pytest.mark.parametrize("seed", ["1", "2"])
def test_panel_json_is_the_same_byte_for_byte_in_every_process(seed):
    page = EXAMPLES / "nook_typed" / "page.py"
    code = (
        "import runpy, sys; "
        f"panel = runpy.run_path({str(page)!r})['panel']; "
        "sys.stdout.buffer.write(panel.manifest_text().encode())"
    )
    told = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        check=True,
        timeout=60,
        env={**os.environ, "PYTHONHASHSEED": seed},
    ).stdout
    assert told == (EXAMPLES / "nook_typed" / "panel.json").read_bytes()


@pytest.mark.rule("G-2")
def test_every_key_stands_in_one_order_and_text_stays_readable():
    panel = a_panel(
        permissions=("notify",),
        icon="icon.png",
        homepage="https://example.org/",
        license="MIT",
        author="Ada",
        description="Für <dich>.",
    )
    panel.read("Reads.", name="import")(handler_of(Nothing, made(text=Short)))
    text = panel.manifest_text()
    assert list(json.loads(text)) == [
        "id",
        "name",
        "version",
        "sdk",
        "description",
        "author",
        "license",
        "homepage",
        "icon",
        "entry",
        "permissions",
        "agent",
    ]
    assert json.loads(text)["permissions"] == ["agent", "notify"]
    assert '  "description": "Für <dich>.",\n' in text
    assert text.endswith("}\n")
    assert panel.manifest_text() == text
    assert [action.name for action in panel.manifest().actions] == ["import"]
    assert repr(panel) == "<Panel notes: 1 actions>"


# -- what is refused

Item = TypeVar("Item")


@frozen
class Box(Generic[Item]):
    item: Short


class Bare(Caption):
    more: Short


class Plain:
    text: Short


class Pair(NamedTuple):
    text: Short


class Colour(enum.Enum):
    RED = "red"


class Number(enum.IntEnum):
    ONE = 1


class Spaced(enum.StrEnum):
    ONE = "one two"


@frozen
class Endless:
    text: Short
    inner: Annotated[list[Endless], MaxItems(2)]


def nested(levels: int) -> Any:
    """A class that needs this many levels of schema."""
    inner = made(text=Short)
    for _ in range(levels - 2):
        inner = made(inner=inner)
    return inner


NO_TYPE = "the dialect has no such type"
ONE_TYPE = "a value has one type"

FIELDS: list[tuple[Any, str]] = [
    (str, "a text says how long it may be"),
    (list, "a list says what its items are"),
    (list[Short], "a list says how many items"),
    (Annotated[list[str], MaxItems(2)], "a text says how long it may be"),
    (Annotated[list[Short | None], MaxItems(2)], "an item of a list cannot be None"),
    (Annotated[list, MaxItems(2)], "a list says what its items are"),
    (dict, "write an attrs class"),
    (dict[str, str], "write an attrs class"),
    (Mapping[str, str], "write an attrs class"),
    (tuple[Short, ...], "write list"),
    (tuple, "write list"),
    (set[Short], "write list"),
    (frozenset[Short], "write list"),
    (bytes, "no bytes"),
    (None, "no annotation that says a type"),
    (type(None), "no null"),
    (Any, ONE_TYPE),
    (object, ONE_TYPE),
    (Short | int, ONE_TYPE),
    (Union[int, bool, None], ONE_TYPE),  # noqa: UP007
    (Decimal, NO_TYPE),
    (complex, NO_TYPE),
    (Plain, NO_TYPE),
    (Bare, NO_TYPE),
    (Pair, NO_TYPE),
    (Box[int], NO_TYPE),
    (Item, NO_TYPE),
    ([], NO_TYPE),
    (Literal[1, 2], "values of an enum are strings"),
    (Literal["a", None], "values of an enum are strings"),
    (Literal["a b"], "an enum value has 1 to 40 characters"),
    (Literal[Mood.CALM], "values of an enum are strings"),
    (Colour, "a StrEnum or a Literal"),
    (Number, "values of an enum are strings"),
    (Spaced, "an enum value has 1 to 40 characters"),
    (Annotated[Literal["a"], MaxLength(0)], "maxLength is an integer from 1"),
    (Annotated[str, MaxLength(0)], "maxLength is an integer from 1 to 262144"),
    (Annotated[str, MaxLength(262_145)], "maxLength is an integer from 1 to 262144"),
    (Annotated[str, MaxLength(True)], "maxLength is an integer"),
    (Annotated[str, MaxLength("5")], "maxLength is an integer"),
    (Annotated[str, MaxLength(5.0)], "maxLength is an integer"),
    (Annotated[str, MaxLength], "write MaxLength(…)"),
    (Annotated[Short, MaxLength(5)], "MaxLength is given twice"),
    (Annotated[str, MaxItems(5)], "MaxItems says nothing about a string"),
    (Annotated[int, MaxLength(5)], "MaxLength says nothing about a whole number"),
    (Annotated[float, MaxItems(5)], "MaxItems says nothing about a number"),
    (Annotated[bool, Minimum(0)], "Minimum says nothing about a bool"),
    (Annotated[Caption, MaxLength(5)], "MaxLength says nothing about a class"),
    (Annotated[list[Short], MaxItems(2), Minimum(1)], "Minimum says nothing about a list"),
    (Annotated[str, MaxLength(40), DeskaFile()], "MaxLength says nothing about a string of this"),
    (Annotated[list[Short], MaxItems(1_001)], "maxItems is an integer from 1 to 1000"),
    (Annotated[int, Minimum(0.5)], "minimum is an integer"),
    (Annotated[int, Minimum(3), Maximum(2)], "maximum is below minimum"),
    (Annotated[float, Maximum(float("inf"))], "maximum is a number"),
    (Annotated[float, Maximum(float("nan"))], "maximum is a number"),
    (Annotated[Short, Description("")], "a description is a string of 1 to 200"),
    (Annotated[Short, Description("a\u200bb")], "a character that is drawn as nothing"),
    (Annotated[str, DeskaImage()], "an image of an input arrives as a Blob"),
    (Annotated[Short, DeskaImage()], "MaxLength says nothing"),
    (Annotated[list[Blob], DeskaImage()], "an image of an input arrives as a Blob"),
    (Annotated[Blob, DeskaImage(0)], "maxLength is an integer"),
    (Blob, NO_TYPE),
    (Annotated[str, DeskaFile()], "the only format in input is deska-image"),
    (field(), "no annotation that says a type"),
    (field(type=Short, init=False, default="x"), "init=False"),
    (field(type=int, converter=int), "has a converter"),
    (field(type=Short, default=None), "its type needs `| None`"),
    (Short | None, "so its default is None"),
    (field(type=Short | None, default="x"), "so its default is None"),
    (field(type=Short | None, factory=str), "so its default is None"),
    (field(type="Nowhere"), "the names in it have to be known"),
    (field(type="1 +"), "the names in it have to be known"),
    (nested(4), "at most 4 levels"),
]


@pytest.mark.rule("G-2", "D-1", "D-2", "D-3", "D-4", "D-5", "D-6")
@pytest.mark.parametrize(("annotation", "reason"), FIELDS)
def test_a_field_that_the_dialect_cannot_express_is_named_with_its_reason(annotation, reason):
    panel = a_panel()
    with pytest.raises(PanelDefinitionError) as caught:
        panel.write("Does it.")(handler_of(made(first=Short, wrong=annotation)))
    assert caught.value.place.startswith("Made.")
    assert caught.value.place in ("Made.wrong", "Made.inner", "Made.text")
    assert reason in caught.value.reason
    assert str(caught.value) == f"{caught.value.place}: {caught.value.reason}"
    assert caught.value.__context__ is None
    # It is as if it had not been tried.
    panel.write("Does it.")(handler_of(made(first=Short)))
    assert len(panel.manifest().actions) == 1


@pytest.mark.rule("G-2", "D-1")
def test_four_levels_are_allowed_and_no_class_contains_itself():
    assert shape_of(nested(4)).schema["type"] == "object"
    with pytest.raises(PanelDefinitionError, match=r"Endless.inner: Endless contains itself"):
        shape_of(Endless, page=globals())


@pytest.mark.rule("G-2", "D-4")
def test_an_output_has_files_and_no_images():
    with pytest.raises(PanelDefinitionError, match=r"Made.image: the only format in output"):
        shape_of(made(image=Annotated[Blob, DeskaImage()]), "output")
    with pytest.raises(PanelDefinitionError, match=r"Made.file: .* has 36 characters"):
        shape_of(made(file=Annotated[str, DeskaFile(max_length=35)]), "output")


@pytest.mark.rule("G-2", "D-2", "D-3")
def test_names_and_numbers_of_properties_follow_the_dialect():
    for name in ("constructor", "prototype", "__proto__"):
        with pytest.raises(PanelDefinitionError, match=rf"Made.{name}: .*in JavaScript"):
            shape_of(made(**{name: Short}))
    with pytest.raises(PanelDefinitionError, match=r"Made.größe: a property name has 1 to 40"):
        shape_of(made(größe=Short))
    many = {f"p{number}": bool for number in range(64)}
    assert len(shape_of(made(**many)).fields) == 64
    with pytest.raises(PanelDefinitionError, match=r"Made: an object has at most 64 properties"):
        shape_of(made(**many, more=bool))


def plain_function(deska: Any, given: Caption) -> WriteAnswer:
    return WriteAnswer(ok=True)


async def one_parameter(given: Caption) -> WriteAnswer:
    return WriteAnswer(ok=True)


async def by_keyword(deska: Any, *, given: Caption) -> WriteAnswer:
    return WriteAnswer(ok=True)


async def no_input(deska: Any, given) -> WriteAnswer:
    return WriteAnswer(ok=True)


async def no_answer(deska: Any, given: Caption):
    return WriteAnswer(ok=True)


async def unknown_name(deska: Any, given: Nowhere) -> WriteAnswer:  # noqa: F821
    return WriteAnswer(ok=True)


@pytest.mark.rule("G-2", "P-4", "W-1")
@pytest.mark.parametrize(
    ("kind", "handler", "told"),
    [
        ("write", plain_function, "plain_function: an action is an async function"),
        ("write", one_parameter, "one_parameter: an action has two parameters"),
        ("write", by_keyword, "by_keyword: an action has two parameters"),
        ("write", no_input, "no_input: an action says the class of its input"),
        ("write", no_answer, "no_answer: an action says the class of its input, and"),
        ("write", unknown_name, "unknown_name: its annotation cannot be read"),
        ("write", handler_of(str), "act: the input of an action is an attrs class"),
        ("write", handler_of(Nothing | None), "act: the input of an action is an attrs class"),
        ("write", handler_of(Nothing | Caption), "act: a value has one type"),
        ("write", handler_of(Plain), "act: the input of an action is an attrs class"),
        ("write", handler_of(Nothing, Caption), "act: a write has no output"),
        ("write", handler_of(Nothing, None), "act: a write has no output"),
        ("read", handler_of(Nothing, None), "act: the output of an action is an attrs class"),
        ("read", handler_of(Nothing, list[Short]), "act: the output of an action is an attrs"),
        ("read", handler_of(Nothing, WriteAnswer), "act: a read answers with a class of its own"),
        ("write", handler_of(Nothing, name="Act"), "Act.name: the name of an action starts"),
        ("write", handler_of(Nothing, name="a" * 65), ".name: "),
        ("write", functools.partial(one_parameter), "the action: an action has two parameters"),
    ],
)
def test_a_function_that_is_no_action_is_named_with_its_reason(kind, handler, told):
    panel = a_panel()
    with pytest.raises(PanelDefinitionError) as caught:
        getattr(panel, kind)("Does it.")(handler)
    assert told in str(caught.value)


@pytest.mark.rule("G-2", "P-4")
def test_a_description_is_given_and_follows_its_rule():
    panel = a_panel()
    with pytest.raises(PanelDefinitionError, match=r"act.description: "):
        panel.read("")(handler_of(Nothing, Caption))
    with pytest.raises(PanelDefinitionError, match=r"act.description: "):
        panel.read("x" * 301)(handler_of(Nothing, Caption))
    for kind in ("read", "write"):
        with pytest.raises(PanelDefinitionError, match=rf"Panel.{kind}: an action says what"):
            getattr(panel, kind)(handler_of(Nothing))


@pytest.mark.rule("G-2", "P-4")
def test_sixteen_actions_of_different_names_are_allowed_and_no_more():
    panel = a_panel()
    for number in range(16):
        panel.write("Does it.")(handler_of(Nothing, name=f"act{number}"))
    with pytest.raises(PanelDefinitionError, match=r"act16.*1 to 16 actions"):
        panel.write("Does it.")(handler_of(Nothing, name="act16"))
    fewer = a_panel(limits=evolve(DEFAULT_LIMITS, actions=2))
    fewer.write("Does it.")(handler_of(Nothing, name="act"))
    with pytest.raises(PanelDefinitionError, match=r"act.name: another action has this name"):
        fewer.read("Reads it.")(handler_of(Nothing, Caption, name="act"))
    assert [action.kind for action in fewer.manifest().actions] == ["write"]


@pytest.mark.rule("G-2", "P-2", "P-5")
@pytest.mark.parametrize(
    ("changes", "place"),
    [
        ({"id": "No Tes"}, "Panel.id"),
        ({"name": ""}, "Panel.name"),
        ({"version": "1"}, "Panel.version"),
        ({"homepage": "http://example.org"}, "Panel.homepage"),
        ({"entry": "/page.py"}, "Panel.entry"),
        ({"permissions": ("everything",)}, "Panel"),
        ({"description": "\ud800"}, "Panel.description"),
    ],
)
def test_a_panel_with_a_wrong_key_is_refused_at_once(changes, place):
    with pytest.raises(PanelDefinitionError) as caught:
        a_panel(**changes)
    assert caught.value.place == place


@pytest.mark.rule("G-2", "P-5")
@pytest.mark.parametrize("permission", ["account", "open-url"])
def test_a_panel_with_an_action_has_no_way_out(permission):
    panel = a_panel(permissions=(permission,))
    with pytest.raises(PanelDefinitionError, match='a panel that declares "agent" may not'):
        panel.write("Does it.")(handler_of(Nothing))


@pytest.mark.rule("G-2")
def test_a_panel_without_an_action_has_no_panel_json():
    for ask in (a_panel().manifest, a_panel().manifest_text):
        with pytest.raises(PanelDefinitionError, match="at least one action"):
            ask()
