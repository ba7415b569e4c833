"""How a call starts: A-1's questions in their order, and what each refusal says (A-9)."""

from __future__ import annotations

import json

import pytest

from deska_sdk.errors import AgentCode
from deska_sdk.router import (
    CallRequested,
    Deliver,
    ImageHandle,
    PageStarted,
    ReadImage,
    Router,
    Switches,
    TaskAttached,
    TurnStarted,
)
from tests.panels.support_router import ADD_NOTE, LIST_NOTES, Desk, manifest, other_actions, refusal

PNG = ImageHandle("image-1", "image/png", 100)


@pytest.mark.rule("A-1", "A-2")
def test_a_good_call_is_handed_to_the_page_at_once_with_its_id_action_and_input():
    desk = Desk().with_notes()
    call = desk.call("add_note", '{"text": "Make the header blue", "tags": ["ui"]}')
    delivered = desk.delivered(call)
    assert delivered.instance == "page-1"
    assert delivered.action == "add_note"
    assert delivered.input == {"text": "Make the header blue", "tags": ["ui"]}
    assert delivered.images == ()
    assert desk.is_open(call)


@pytest.mark.rule("A-1", "A-9")
def test_the_questions_about_a_call_are_asked_in_their_order():
    # Everything is wrong at first; then one thing after the other is put right, and the next
    # question is the one that refuses.
    desk = Desk(open_calls_per_connection=1, images=1)
    seen: list[AgentCode | None] = []
    names = ["nothing_such"]
    payload: list[object] = [{"wrong": True}]

    def ask() -> None:
        request = desk.call(names[0], payload[0])
        seen.append(None if desk.is_open(request) else desk.code(request))

    desk.attach("task-1", switches=Switches.NEVER)
    desk.turn_off()
    ask()
    desk.turn_on()
    ask()
    desk.install(manifest())
    ask()
    desk.connect()
    desk.install(manifest(agent=other_actions()))
    ask()
    desk.connect()
    ask()
    names[0] = "list_notes"
    ask()
    desk.start_page()
    first = desk.call("add_note")
    ask()
    desk.answer(first, {"ok": True})
    ask()
    payload[0] = {"like": "missing.png"}
    ask()
    names[0], payload[0] = "add_note", {"text": "", "pictures": ["missing.png", "missing.png"]}
    ask()
    payload[0] = {"text": "", "pictures": ["missing.png"]}
    ask()
    assert seen == [
        AgentCode.TURNED_OFF,
        AgentCode.NOT_CONNECTED,
        AgentCode.NOT_CONNECTED,
        AgentCode.CONSENT_CHANGED,
        AgentCode.UNKNOWN_ACTION,
        AgentCode.PANEL_NOT_RUNNING,
        AgentCode.PANEL_BUSY,
        AgentCode.INVALID_INPUT,
        AgentCode.PAUSE_FAILED,
        AgentCode.TOO_MANY_IMAGES,
        AgentCode.IMAGE_NOT_FOUND,
    ]


@pytest.mark.rule("A-1")
def test_a_read_that_cannot_pause_is_refused_before_its_images_are_counted_or_read():
    desk = Desk(images=0).with_notes()
    desk.attach("task-1", switches=Switches.NEVER)
    call = desk.call("list_notes", {"like": "a.png"})
    assert desk.code(call) is AgentCode.PAUSE_FAILED
    assert desk.all(ReadImage) == []


@pytest.mark.rule("A-1")
def test_a_write_needs_no_switch_and_works_for_a_task_that_cannot_switch():
    desk = Desk().with_notes()
    desk.attach("task-1", switches=Switches.NEVER)
    call = desk.call("add_note")
    assert desk.answer(call, {"ok": True}) is None
    assert desk.code(call) is None


@pytest.mark.rule("A-1", "A-9")
def test_a_panel_that_does_not_exist_and_one_that_is_not_connected_answer_alike():
    desk = Desk().with_notes()
    desk.install(manifest("sketches"))
    missing = desk.reply(desk.call("add_note", panel="no-such-panel"))
    strange = desk.reply(desk.call("add_note", panel="sketches"))
    assert (missing.text, missing.code) == (strange.text, strange.code)
    assert missing.text == refusal(AgentCode.NOT_CONNECTED)


@pytest.mark.rule("A-1", "A-9")
def test_a_task_that_is_not_here_is_not_connected():
    desk = Desk().with_notes()
    assert desk.code(desk.call("add_note", task="task-2")) is AgentCode.NOT_CONNECTED


@pytest.mark.rule("A-1", "A-9")
def test_a_call_of_a_turn_that_is_not_the_running_one_is_stopped():
    desk = Desk().with_notes()
    old = desk.turns["task-1"]
    desk.end_turn()
    between = desk.call("add_note", turn=old)
    desk.start_turn("task-1")
    late = desk.call("add_note", turn=old)
    for request in (between, late):
        assert desk.reply(request).text == refusal(AgentCode.STOPPED)
        assert not desk.was_delivered(request)


@pytest.mark.rule("A-9", "A-1")
@pytest.mark.parametrize(
    ("code", "prepare", "call"),
    [
        (AgentCode.TURNED_OFF, lambda desk: desk.turn_off(), {}),
        (AgentCode.NOT_CONNECTED, lambda desk: desk.disconnect(), {}),
        (
            AgentCode.CONSENT_CHANGED,
            lambda desk: desk.install(manifest(agent=other_actions())),
            {},
        ),
        (AgentCode.UNKNOWN_ACTION, lambda desk: None, {"action": "remove_note"}),
        (AgentCode.PANEL_NOT_RUNNING, lambda desk: desk.close_page(), {}),
        (
            AgentCode.PANEL_BUSY,
            lambda desk: [desk.call() for _ in range(desk.limits.open_calls_per_connection)],
            {},
        ),
        (
            AgentCode.TOO_MANY_IMAGES,
            lambda desk: None,
            {"payload": {"text": "", "pictures": ["a.png"] * 11}},
        ),
        (
            AgentCode.IMAGE_NOT_FOUND,
            lambda desk: None,
            {"payload": {"text": "", "pictures": ["a.png"]}},
        ),
    ],
)
def test_a_refused_call_gets_its_code_and_one_fixed_sentence_and_never_reaches_the_page(
    code, prepare, call
):
    desk = Desk().with_notes()
    prepare(desk)
    request = desk.call(**call)
    reply = desk.reply(request)
    assert reply.code is code
    # Nothing reached a page, so the second sentence of A-9 is not said, though it is a write.
    assert reply.text == refusal(code)
    assert reply.images == ()
    assert not desk.was_delivered(request)


@pytest.mark.rule("A-9")
@pytest.mark.parametrize(
    "code",
    [
        AgentCode.IMAGE_NOT_FOUND,
        AgentCode.IMAGE_OUTSIDE_FOLDER,
        AgentCode.IMAGE_UNSUPPORTED,
        AgentCode.IMAGE_TOO_LARGE,
        AgentCode.IMAGE_TIMEOUT,
    ],
)
def test_an_image_that_cannot_be_read_ends_the_call_with_its_own_code(code):
    desk = Desk().with_notes()
    desk.folder = {"good.png": PNG, "bad.png": code}
    request = desk.call("add_note", {"text": "", "pictures": ["good.png", "bad.png", "good.png"]})
    assert desk.reply(request).text == refusal(code)
    # The third is not read any more, and the first is given back.
    assert [read.path for read in desk.all(ReadImage)] == ["good.png", "bad.png"]
    assert desk.released == [PNG]
    assert desk.at_rest()


@pytest.mark.rule("A-9", "D-7")
def test_invalid_input_tells_the_faults_in_the_hosts_words_and_no_value():
    desk = Desk().with_notes()
    request = desk.call(
        "add_note", {"text": 5, "tags": ["SECRET" * 9], "place": "SECRET", "SECRET key": 1}
    )
    text = desk.reply(request).text
    first, *faults = text.split("\n")
    assert desk.code(request) is AgentCode.INVALID_INPUT
    assert first == refusal(AgentCode.INVALID_INPUT)
    assert faults == [
        "- expected a string at /text",
        "- text longer than 20 characters at /tags/0",
        "- not one of the schema's enum values at /place",
        "- unknown property at the root",
    ]
    assert "SECRET" not in text


@pytest.mark.rule("A-9", "D-7")
def test_faults_beyond_the_limit_are_told_as_and_more():
    desk = Desk().with_notes()
    request = desk.call("add_note", {"text": "", "tags": [1, 2, 3, 4, 5, 6, 7, 8]})
    assert "- and more" not in desk.reply(request).text
    request = desk.call("add_note", {"tags": [1, 2, 3, 4, 5, 6, 7, 8], "place": 9, "text": ""})
    lines = desk.reply(request).text.split("\n")
    assert len(lines) == 1 + 8 + 1
    assert lines[-1] == "- and more"


@pytest.mark.rule("D-11", "A-9")
@pytest.mark.parametrize("payload", ['{"text": NaN', b"\xff", "", '{"text": "\\ud800"}'])
def test_what_is_no_json_text_is_one_fault(payload):
    desk = Desk().with_notes()
    lines = desk.reply(desk.call("add_note", payload)).text.split("\n")
    assert lines == [
        refusal(AgentCode.INVALID_INPUT),
        "- the input is not JSON text that can be read",
    ]


@pytest.mark.rule("T-3", "D-9")
def test_what_was_checked_is_what_the_page_gets_and_the_callers_value_stays():
    desk = Desk().with_notes()
    given = {"text": "pay\u200bload", "tags": ["x" * 20 + "\u200b\u200b"]}
    call = desk.call("add_note", given)
    assert desk.delivered(call).input == {"text": "payload", "tags": ["x" * 20]}
    assert given == {"text": "pay\u200bload", "tags": ["x" * 20 + "\u200b\u200b"]}


@pytest.mark.rule("A-1", "A-7")
@pytest.mark.parametrize(
    ("code", "meanwhile"),
    [
        (AgentCode.TURNED_OFF, lambda desk: desk.turn_off()),
        (AgentCode.NOT_CONNECTED, lambda desk: desk.disconnect()),
        (AgentCode.NOT_CONNECTED, lambda desk: desk.uninstall()),
        (
            AgentCode.CONSENT_CHANGED,
            lambda desk: desk.install(manifest(agent=other_actions())),
        ),
        (
            AgentCode.CONSENT_CHANGED,
            lambda desk: desk.install(manifest(agent={"actions": [LIST_NOTES]})),
        ),
        (AgentCode.PANEL_NOT_RUNNING, lambda desk: desk.close_page()),
        (AgentCode.STOPPED, lambda desk: desk.end_turn()),
    ],
)
def test_what_changed_while_images_were_read_still_refuses_the_call(code, meanwhile):
    desk = Desk().with_notes()
    desk.folder = {"a.png": PNG}
    desk.holding = {"read"}
    call = desk.call("add_note", {"text": "", "pictures": ["a.png"]})
    meanwhile(desk)
    desk.finish()
    # It was never handed to a page: no second sentence.
    assert desk.reply(call).text == refusal(code)
    assert desk.all(Deliver) == []
    assert desk.released == [PNG]
    assert desk.at_rest()


@pytest.mark.rule("A-1")
def test_an_action_that_is_gone_from_the_version_the_person_agreed_to_meanwhile_is_unknown():
    desk = Desk().with_notes()
    desk.folder = {"a.png": PNG}
    desk.holding = {"read"}
    call = desk.call("add_note", {"text": "", "pictures": ["a.png"]})
    desk.install(manifest(agent={"actions": [LIST_NOTES]}))
    desk.connect()
    desk.start_page()
    desk.finish()
    assert desk.code(call) is AgentCode.UNKNOWN_ACTION
    assert desk.released == [PNG]


@pytest.mark.rule("A-1", "C-2")
def test_a_call_checked_by_one_version_is_never_handed_to_another_that_asks_for_something_else():
    # The person agreed to the new version while the image was read, but this input was never
    # held against its schema.
    desk = Desk().with_notes()
    desk.folder = {"a.png": PNG}
    desk.holding = {"read"}
    call = desk.call("add_note", {"text": "x" * 300, "pictures": ["a.png"]})
    stricter = json.loads(json.dumps(ADD_NOTE))
    stricter["input"]["properties"]["text"]["maxLength"] = 10
    desk.install(manifest(agent={"actions": [LIST_NOTES, stricter]}))
    desk.connect()
    desk.start_page()
    desk.finish()
    assert desk.code(call) is AgentCode.CONSENT_CHANGED
    assert not desk.was_delivered(call)


@pytest.mark.rule("A-1", "C-2")
def test_an_update_that_changes_nothing_the_person_agreed_to_lets_a_prepared_call_through():
    desk = Desk().with_notes()
    desk.folder = {"a.png": PNG}
    desk.holding = {"read"}
    call = desk.call("add_note", {"text": "", "pictures": ["a.png"]})
    described = json.loads(json.dumps(ADD_NOTE))
    described["input"]["properties"]["text"]["description"] = "for reviewers only"
    desk.install(manifest(version="1.0.1", agent={"actions": [LIST_NOTES, described]}))
    page = desk.start_page()
    desk.finish()
    assert desk.delivered(call).instance == page


@pytest.mark.rule("A-2", "A-7")
def test_a_page_that_took_the_place_of_another_while_images_were_read_gets_the_call():
    desk = Desk().with_notes()
    desk.folder = {"a.png": PNG}
    desk.holding = {"read"}
    call = desk.call("add_note", {"text": "", "pictures": ["a.png"]})
    second = desk.start_page()
    desk.finish()
    assert desk.delivered(call).instance == second
    assert desk.closed() == ["page-1"]


@pytest.mark.rule("A-2")
def test_a_page_is_running_from_its_start_and_not_only_from_ready():
    desk = Desk()
    desk.install(manifest())
    desk.attach("task-1")
    desk.connect()
    desk.step(PageStarted("page-9", "notes"))
    assert desk.delivered(desk.call("add_note")).instance == "page-9"


@pytest.mark.rule("A-2", "I-2")
def test_images_stand_where_their_paths_were_in_the_order_of_the_input():
    desk = Desk().with_notes()
    other = ImageHandle("image-2", "image/webp", 7)
    desk.folder = {"a.png": PNG, "b.webp": other}
    call = desk.call("add_note", {"text": "r1", "pictures": ["b.webp", "a.png", "b.webp"]})
    delivered = desk.delivered(call)
    assert delivered.input == {"text": "r1", "pictures": [other, PNG, other]}
    assert [place[key] for place, key in delivered.images] == [other, PNG, other]
    assert [read.task for read in desk.all(ReadImage)] == ["task-1"] * 3


@pytest.mark.rule("I-3")
def test_each_occurrence_of_an_image_in_a_call_counts_before_any_is_read():
    desk = Desk(images=2).with_notes()
    desk.folder = {"a.png": PNG}
    call = desk.call("add_note", {"text": "", "pictures": ["a.png"] * 3})
    assert desk.code(call) is AgentCode.TOO_MANY_IMAGES
    assert desk.all(ReadImage) == []
    assert desk.was_delivered(desk.call("add_note", {"text": "", "pictures": ["a.png"] * 2}))


@pytest.mark.rule("A-8")
def test_open_calls_of_one_task_and_of_one_panel_are_bounded_each():
    desk = Desk(open_calls_per_connection=2, open_calls_per_panel=3).with_notes()
    desk.attach("task-2")
    desk.connect("task-2")
    mine = [desk.call(), desk.call()]
    assert desk.reply(desk.call()).text == refusal(AgentCode.PANEL_BUSY)
    theirs = desk.call(task="task-2")
    assert desk.code(desk.call(task="task-2")) is AgentCode.PANEL_BUSY
    desk.answer(mine[0], {"ok": True})
    assert desk.was_delivered(desk.call(task="task-2"))
    assert desk.code(desk.call()) is AgentCode.PANEL_BUSY
    desk.answer(theirs, {"ok": True})
    assert desk.was_delivered(desk.call())


@pytest.mark.rule("A-8")
def test_an_update_of_a_panel_gives_no_room_that_its_open_calls_hold():
    desk = Desk(open_calls_per_panel=1).with_notes()
    desk.folder = {"a.png": PNG}
    desk.holding = {"read"}
    desk.call("add_note", {"text": "", "pictures": ["a.png"]})
    desk.install(manifest(version="1.0.1"))
    desk.start_page()
    assert desk.code(desk.call()) is AgentCode.PANEL_BUSY
    desk.finish()
    assert desk.code(desk.call()) is AgentCode.PANEL_BUSY


@pytest.mark.rule("A-8")
def test_bytes_of_images_count_for_the_panel_until_the_call_that_read_them_ends():
    desk = Desk(image_bytes_per_panel=250).with_notes()
    desk.attach("task-2")
    desk.connect("task-2")
    desk.folder = {"a.png": PNG}
    one = desk.call("add_note", {"text": "", "pictures": ["a.png", "a.png"]})
    two = desk.call("add_note", {"text": "", "pictures": ["a.png"]}, task="task-2")
    assert desk.was_delivered(one)
    assert desk.reply(two).text == refusal(AgentCode.PANEL_BUSY)
    assert desk.released == [PNG]
    desk.answer(one, {"ok": True})
    three = desk.call("add_note", {"text": "", "pictures": ["a.png", "a.png"]}, task="task-2")
    assert desk.was_delivered(three)
    # Exactly the limit is not over it.
    desk.folder["b.png"] = ImageHandle("image-3", "image/png", 50)
    assert desk.was_delivered(desk.call("add_note", {"text": "", "pictures": ["b.png"]}))
    desk.folder["c.png"] = ImageHandle("image-4", "image/png", 1)
    busy = desk.call("add_note", {"text": "", "pictures": ["c.png"]})
    assert desk.code(busy) is AgentCode.PANEL_BUSY


@pytest.mark.rule("A-8")
def test_a_call_that_alone_reads_more_than_a_panel_may_hold_reads_no_further():
    desk = Desk(image_bytes_per_panel=150).with_notes()
    desk.folder = {"a.png": PNG}
    call = desk.call("add_note", {"text": "", "pictures": ["a.png"] * 5})
    assert desk.code(call) is AgentCode.PANEL_BUSY
    assert len(desk.all(ReadImage)) == 2
    assert desk.released == [PNG, PNG]
    assert desk.at_rest()


@pytest.mark.rule("D-10")
def test_the_slow_checker_routes_calls_as_the_compiled_one_does():
    desk = Desk().with_notes()
    router = Router(desk.log, checker="interpreted")
    router.step(TaskAttached("task-1"), 0.0)
    router.step(TurnStarted("task-1", "turn-1"), 0.0)
    router.step(PageStarted("page-1", "notes"), 0.0)
    effects = router.step(
        CallRequested("one", "id", "task-1", "turn-1", "notes", "add_note", '{"text":"a"}'), 0.0
    )
    assert [one.input for one in effects if isinstance(one, Deliver)] == [{"text": "a"}]


@pytest.mark.rule("A-3")
def test_a_request_id_that_is_still_open_is_a_mistake_of_the_host_and_changes_nothing():
    desk = Desk().with_notes()
    call = desk.call()
    with pytest.raises(ValueError, match="a request with this id is open"):
        desk.step(
            CallRequested(
                call, "other", "task-1", desk.turns["task-1"], "notes", "add_note", {"text": ""}
            )
        )
    assert desk.router.pending == 1
    desk.answer(call, {"ok": True})
    assert desk.code(call) is None


@pytest.mark.rule("A-6")
def test_what_is_no_event_is_refused_and_changes_nothing():
    router = Router()
    with pytest.raises(TypeError, match="step takes an event"):
        router.step("SECRET", 0.0)  # type: ignore[arg-type]
    assert router.pending == 0
