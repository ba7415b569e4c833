"""Each named limit: what is exactly at it passes, one more does not."""

import io
import json
from pathlib import Path

import attrs
import pytest
from PIL import Image

from deska_host.folder import TaskFolder
from deska_host.store import open_store
from deska_sdk import (
    DEFAULT_LIMITS,
    InvalidValue,
    Limits,
    PackageError,
    PageError,
    Refused,
    TooLarge,
    check_panel,
    compile_schema,
    fence,
    images,
    router,
)
from deska_sdk.document import parse_document
from deska_sdk.panels.catalog import catalogue
from deska_sdk.panels.pagecore import PageCore
from deska_sdk.problems import quote
from deska_sdk.revisions import RevisionCounter
from tests.contract.support_desk import TEXT, Desk, action, panel

ROOT = Path(__file__).parents[2]
IMAGE = {"type": "string", "maxLength": 1000, "format": "deska-image"}
FILE = {"type": "string", "maxLength": 36, "format": "deska-file"}

#: Whether ``amount`` passes under ``limits``, by the name of the limit; with the limit to try.
PROBES = {}
#: Limits of the worker process: they are kept in real time, so their tests start real processes.
ELSEWHERE = {
    "decode_seconds": "tests/host/test_imaging.py",
    "decode_memory_bytes": "tests/host/test_imaging.py",
    "worker_idle_seconds": "tests/host/test_imaging.py",
}


def probe(limit):
    def take(function):
        PROBES[function.__name__.removeprefix("takes_")] = (function, limit)
        return function

    return take


def passes(work, *errors):
    try:
        work()
    except errors:
        return False
    return True


def fits(value, limits):
    return not check_panel(value, limits=limits).problems


def compiles(schema, limits, side="input"):
    return passes(lambda: compile_schema(schema, side, limits=limits), PackageError)


def of_text(**properties):
    return {"type": "object", "properties": properties}


# --- packages


@probe(400)
def takes_manifest_bytes(limits, amount):
    return fits(json.dumps(panel()).ljust(amount).encode(), limits)


@probe(9)
def takes_json_nesting(limits, amount):
    text = "[" * amount + "]" * amount
    return not parse_document(text, limits=limits).problems


@probe(5)
def takes_integer_digits(limits, amount):
    return not parse_document("1" * amount, limits=limits).problems


@probe(8)
def takes_panel_id(limits, amount):
    return fits(panel(id="a" * amount), limits)


@probe(8)
def takes_panel_name(limits, amount):
    return fits(panel(name="é" * amount), limits)


@probe(8)
def takes_panel_description(limits, amount):
    return fits(panel(description="é" * amount), limits)


@probe(8)
def takes_author(limits, amount):
    return fits(panel(author="é" * amount), limits) and fits(panel(license="M" * amount), limits)


@probe(3)
def takes_actions(limits, amount):
    return fits(panel(*(action(f"a{n}") for n in range(amount))), limits)


@probe(8)
def takes_action_name(limits, amount):
    return fits(panel(action("a" * amount)), limits)


@probe(8)
def takes_action_description(limits, amount):
    return fits(panel(action(description="é" * amount)), limits)


@probe(8)
def takes_quoted(limits, amount):
    return quote("x" * amount, limits.quoted) == "x" * amount


# --- the dialect


@probe(3)
def takes_schema_levels(limits, amount):
    schema = {"type": "boolean"}
    for _ in range(amount - 1):
        schema = of_text(deep=schema)
    return compiles(schema, limits)


@probe(6)
def takes_token(limits, amount):
    name = "n" * amount
    choice = {"type": "string", "enum": [name]}
    return compiles(of_text(**{name: TEXT}), limits) and compiles(of_text(e=choice), limits)


@probe(7)
def takes_max_length(limits, amount):
    return compiles(of_text(a={"type": "string", "maxLength": amount}), limits)


@probe(7)
def takes_max_items(limits, amount):
    items = {"type": "array", "items": {"type": "boolean"}, "maxItems": amount}
    return compiles(of_text(a=items), limits)


@probe(4)
def takes_properties(limits, amount):
    return compiles(of_text(**{f"p{n}": {"type": "boolean"} for n in range(amount)}), limits)


@probe(4)
def takes_enum_values(limits, amount):
    choice = {"type": "string", "enum": [f"v{n}" for n in range(amount)]}
    return compiles(of_text(a=choice), limits)


@probe(9)
def takes_schema_description(limits, amount):
    return compiles(of_text(a={"type": "boolean", "description": "é" * amount}), limits)


@probe(3)
def takes_faults(limits, amount):
    checker = compile_schema({"type": "object"}, limits=limits)
    with pytest.raises(InvalidValue) as caught:
        checker.check({f"k{n}": 0 for n in range(amount)})
    assert len(caught.value.faults) == min(amount, limits.faults)
    return not caught.value.more


@probe(20)
def takes_call_text(limits, amount):
    checker = compile_schema({"type": "object"}, limits=limits)
    return passes(lambda: checker.check_json("{}".ljust(amount)), InvalidValue)


# --- the agent's side


@probe(400)
def takes_list_bytes(limits, amount):
    shortest = listed(1, DEFAULT_LIMITS)
    text = listed(amount - len(shortest.encode()) + 1, limits)
    return "left_out" not in text


def listed(length, limits):
    manifest = check_panel(panel(action(description="x" * length))).manifest
    return catalogue([manifest], limits=limits)


@probe(4.0)
def takes_preparing_seconds(limits, amount):
    desk = Desk(limits, action(input_schema=of_text(image=IMAGE)))
    call = desk.call({"image": "a.png"})
    return not_late(desk, amount, router.ImageRead(desk.started[0].op, handle(1)), call)


@probe(4.0)
def takes_waiting_seconds(limits, amount):
    desk = Desk(limits)
    call = desk.call()
    event = router.Responded("p", 1, "c1", {"ok": True})
    return not_late(desk, amount, event, call)


@probe(4.0)
def takes_finishing_images_seconds(limits, amount):
    desk = Desk(limits, action(kind="read", output=of_text(image=FILE)))
    call = desk.call()
    desk.respond(call, {"image": "f"})
    desk.now += amount - 0.5
    desk.feed(router.ImageEncoded(desk.started[-1].op, handle(1)))
    desk.feed(router.ModeSwitched(desk.started[-1].op, True))
    (reply,) = [effect for effect in desk.told if isinstance(effect, router.Reply)]
    return "image:1" in reply.text


@probe(4.0)
def takes_switching_seconds(limits, amount):
    desk = Desk(limits, action(kind="read"))
    call = desk.call()
    desk.respond(call, {})
    return not_late(desk, amount, router.ModeSwitched(desk.started[-1].op, True), call)


def not_late(desk, amount, event, call):
    # Half a second before ``amount`` seconds have passed: in time where that is the limit, and
    # late where the limit is one second less.
    desk.now += amount - 0.5
    desk.feed(event)
    return desk.code(call) in ("open", None)


def handle(size):
    return router.ImageHandle(f"h{size}", "image/png", size)


@probe(3)
def takes_buffered_calls(limits, amount):
    core = PageCore(limits)
    for number in range(amount):
        core.receive({"type": "agent.action", "callId": str(number), "action": "a", "input": {}})
    return len(core.listen("agent.action")) == amount


@probe(3)
def takes_open_calls_per_connection(limits, amount):
    desk = Desk(limits)
    return [desk.code(desk.call()) for _ in range(amount)] == ["open"] * amount


@probe(3)
def takes_open_calls_per_panel(limits, amount):
    desk = Desk(limits)
    return [desk.code(desk.call()) for _ in range(amount)] == ["open"] * amount


@probe(50)
def takes_image_bytes_per_panel(limits, amount):
    desk = Desk(limits, action(input_schema=of_text(image=IMAGE)))
    codes = []
    for size in (20, amount - 20):
        call = desk.call({"image": "a.png"})
        desk.feed(router.ImageRead(desk.started[-1].op, handle(size)))
        codes.append(desk.code(call))
    return codes == ["open", "open"]


@probe(5)
def takes_revision(limits, amount):
    desk = Desk(limits)
    call = desk.call()
    desk.respond(call, {"ok": True, "revision": "x" * amount})
    return desk.refused(call) is None


@probe(4)
def takes_revisions_kept(limits, amount):
    counter = RevisionCounter(kept=limits.revisions_kept)
    for number in range(amount):
        counter.show(f"v{number}")
    return counter.show("v0") == "r1"


@probe(8)
def takes_counter_block(limits, amount):
    desk = Desk(limits)
    # From here on the store is too slow: only what was reserved before can be given.
    desk.commits = False
    for number in range(amount):
        call = desk.call()
        desk.respond(call, {"ok": True, "revision": f"v{number}"})
    return desk.code(call) is None


@probe(60)
def takes_answer(limits, amount):
    value = {"text": "x" * (amount - len('{"text":""}'))}
    return passes(lambda: fence.encode("nook", "Nook", value, limits=limits), TooLarge)


@probe(2)
def takes_images(limits, amount):
    many = {"type": "array", "items": IMAGE, "maxItems": 10}
    kept = {"type": "array", "items": FILE, "maxItems": 10}
    desk = Desk(
        limits,
        action(input_schema=of_text(many=many)),
        action("look", "read", output=of_text(kept=kept)),
    )
    sent = desk.code(desk.call({"many": ["a.png"] * amount})) == "open"
    call = desk.call(name="look")
    desk.respond(call, {"kept": [f"f{n}" for n in range(amount)]})
    assert sent == (desk.refused(call) is None)
    return sent


@probe(50)
def takes_png_bytes(limits, amount):
    kept = {"type": "array", "items": FILE, "maxItems": 10}
    desk = Desk(limits, action(kind="read", output=of_text(kept=kept)))
    call = desk.call()
    desk.respond(call, {"kept": ["f1", "f2"]})
    for size in (20, amount - 20):
        desk.feed(router.ImageEncoded(desk.started[-1].op, handle(size)))
    desk.feed(router.ModeSwitched(desk.started[-1].op, True))
    (reply,) = [effect for effect in desk.told if isinstance(effect, router.Reply)]
    return "unavailable" not in reply.text


# --- files and images


@probe(30)
def takes_image_path(limits, amount, tmp_path):
    path = "a" * amount
    (tmp_path / path).write_bytes(b"x")
    with TaskFolder(tmp_path, limits=limits) as folder:
        return passes(lambda: folder.read(path), Refused)


@probe(80)
def takes_image_bytes(limits, amount, tmp_path):
    (tmp_path / "a").write_bytes(b"x" * amount)
    data = picture(1, 1)
    data += bytes(amount - len(data))
    with TaskFolder(tmp_path, limits=limits) as folder:
        read = passes(lambda: folder.read("a"), Refused)
    assert read == passes(lambda: images.sniff(data, limits=limits), Refused)
    return read


@probe(12)
def takes_image_pixels(limits, amount):
    data = picture(amount, 1)
    return passes(lambda: images.sniff(data, limits=limits), Refused)


@probe(12)
def takes_image_side(limits, amount):
    png = images.to_png(picture(amount, 1), max_side=limits.image_side)
    return images.sniff(png).width == amount


def picture(width, height):
    file = io.BytesIO()
    Image.new("L", (width, height)).save(file, "PNG")
    return file.getvalue()


@probe(50)
def takes_storage_bytes(limits, amount):
    text = json.dumps("x" * (amount - len('key""')))
    with open_store(None, limits=limits) as store:
        return passes(lambda: store.storage_set("nook", "key", text), PageError)


@probe(50)
def takes_files_bytes(limits, amount):
    with open_store(None, limits=limits) as store:
        store.file_put("nook", "f1", "image/png", b"x" * 20)
        rest = b"x" * (amount - 20)
        return passes(lambda: store.file_put("nook", "f2", "image/png", rest), PageError)


@probe(50)
def takes_file_bytes(limits, amount):
    with open_store(None, limits=limits) as store:
        data = b"x" * amount
        return passes(lambda: store.file_put("nook", "f", "image/png", data), PageError)


# --- what a page may offer


def an_offer(limits, text, files):
    """Whether a page may offer this; it keeps every id."""
    desk = Desk(limits, action())
    desk.feed(router.Offered("p", 1, text, files))
    looked = [effect for effect in desk.told if isinstance(effect, router.FindFiles)]
    for effect in looked:
        desk.feed(router.FilesFound(effect.op, ok=True))
    (settled,) = [effect for effect in desk.told if isinstance(effect, router.SettleOffer)]
    return settled.code is None


@probe(20)
def takes_offer_text(limits, amount):
    return an_offer(limits, "x" * amount, None)


@probe(4)
def takes_offer_images(limits, amount):
    return an_offer(limits, None, [f"image-{number}" for number in range(amount)])


# --- the tests that these make


@pytest.mark.parametrize("name", sorted(PROBES))
def test_what_is_at_a_limit_passes_and_one_more_does_not(name, tmp_path):
    takes, limit = PROBES[name]
    limits = attrs.evolve(DEFAULT_LIMITS, **{name: limit})
    more = {"tmp_path": tmp_path} if "tmp_path" in takes.__code__.co_varnames else {}
    assert takes(limits, limit, **more)
    assert not takes(limits, limit + 1, **more)


def test_no_limit_is_without_a_test():
    names = {field.name for field in attrs.fields(Limits)}
    assert names == PROBES.keys() | ELSEWHERE.keys()
    for name, path in ELSEWHERE.items():
        assert name in (ROOT / path).read_text(encoding="utf-8")
