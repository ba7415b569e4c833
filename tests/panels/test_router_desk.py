"""What the person does with panels and tasks, and what pages hear of it (C-1 to C-7, P-6, G-3)."""

from __future__ import annotations

from json import dumps

import pytest

from deska_sdk.errors import AgentCode, PersonCode
from deska_sdk.panels.check import check_panel
from deska_sdk.panels.consent import sheet_of
from deska_sdk.records import (
    ConnectionRecord,
    ConsentRecord,
    CounterBlockRecord,
    DisconnectionRecord,
    InstallRecord,
    LedgerRecord,
    SwitchRecord,
    UninstallRecord,
)
from deska_sdk.router import (
    ClosePage,
    ConnectAsked,
    Connected,
    Count,
    Done,
    Init,
    InstallAsked,
    ListRequested,
    Notice,
    NoticeKind,
    Notify,
    PageReady,
    PageStarted,
    Persist,
    ShowSheet,
    TaskAttached,
    TaskDetached,
    TaskKind,
)
from tests.panels.support_router import Desk, manifest, notes_json, other_actions, refusal


def installed(**facts: object) -> Desk:
    desk = Desk()
    desk.install(manifest())
    desk.attach("task-1", **facts)
    return desk


# --- C-1, C-2: connecting


@pytest.mark.rule("C-1", "C-2")
def test_the_first_connecting_shows_the_sheet_and_connects_nothing():
    desk = installed()
    before = list(desk.log)
    made = desk.step(ConnectAsked("one", "task-1", "notes"))
    assert made == [ShowSheet("one", sheet_of(manifest()))]
    assert desk.log == before
    assert desk.router.connected("task-1") == ()
    assert desk.code(desk.call()) is AgentCode.NOT_CONNECTED


@pytest.mark.rule("C-1", "L-2")
def test_the_sheet_and_the_list_say_the_same_of_each_action():
    desk = installed()
    desk.step(ConnectAsked("one", "task-1", "notes"))
    sheet = desk.sheets()[0].sheet
    desk.connect()
    (listed,) = desk.listed()["panels"]
    assert (listed["panel"], listed["name"]) == (sheet.panel, sheet.name)
    assert [(one["name"], one["kind"], one["description"]) for one in listed["actions"]] == [
        (one.name, one.kind, one.description) for one in sheet.actions
    ]


@pytest.mark.rule("C-2")
def test_a_yes_to_another_sheet_is_no_yes_to_this_one():
    desk = installed()
    other = sheet_of(manifest(agent=other_actions())).fingerprint
    made = desk.step(ConnectAsked("one", "task-1", "notes", other))
    assert made == [ShowSheet("one", sheet_of(manifest()))]
    assert desk.router.connected("task-1") == ()


@pytest.mark.rule("C-2")
def test_consent_and_connection_are_durable_in_one_transaction_before_they_count():
    desk = installed()
    desk.holding = {"store"}
    desk.connect()
    (persist,) = desk.held
    fingerprint = sheet_of(manifest()).fingerprint
    assert persist.records == (
        ConsentRecord("notes", fingerprint),
        ConnectionRecord("task-1", "notes"),
        CounterBlockRecord("task-1", "notes", desk.limits.counter_block),
    )
    assert desk.code(desk.call()) is AgentCode.NOT_CONNECTED
    assert desk.listed() == {"panels": []}
    made = desk.finish()
    assert [one for one in made if isinstance(one, Done)] == [Done("ask-2")]
    assert [one["panel"] for one in desk.listed()["panels"]] == ["notes"]


@pytest.mark.rule("C-2")
def test_consent_is_for_the_panel_on_this_computer_so_another_task_needs_no_sheet():
    desk = installed()
    desk.connect()
    desk.attach("task-2")
    desk.step(ConnectAsked("two", "task-2", "notes"))
    assert desk.done() == Done("two")
    assert desk.sheets() == []
    assert desk.router.connected("task-2") == ("notes",)


@pytest.mark.rule("C-2")
def test_the_same_fingerprint_asks_for_no_sheet_after_disconnecting_and_a_new_version():
    desk = installed()
    desk.connect()
    desk.disconnect()
    desk.install(manifest(version="2.0.0", description="Now with more."))
    desk.step(ConnectAsked("two", "task-1", "notes"))
    assert desk.done() == Done("two")
    assert desk.sheets() == []


@pytest.mark.rule("C-2", "C-5")
def test_a_held_connection_is_not_listed_counts_as_no_task_and_resumes_with_the_old_version():
    desk = Desk().with_notes()
    desk.install(manifest(version="2.0.0", agent=other_actions()))
    assert desk.router.held("notes")
    assert desk.router.connected("task-1") == ("notes",)
    page = desk.start_page()
    assert desk.inits(page) == [0]
    assert desk.listed() == {"panels": []}
    assert desk.reply(desk.call()).text == refusal(AgentCode.CONSENT_CHANGED)
    desk.install(manifest(version="2.0.1"))
    page = desk.start_page()
    assert not desk.router.held("notes")
    assert desk.inits(page) == [1]
    assert [one["panel"] for one in desk.listed()["panels"]] == ["notes"]
    assert desk.was_delivered(desk.call())
    assert desk.sheets() == []


@pytest.mark.rule("C-2", "C-5")
def test_a_yes_to_the_new_sheet_resumes_the_held_connection_of_every_task():
    desk = Desk().with_notes()
    desk.attach("task-2")
    desk.connect("task-2")
    desk.install(manifest(agent=other_actions()))
    page = desk.start_page()
    made = desk.step(ConnectAsked("again", "task-1", "notes"))
    assert [one.ask for one in made if isinstance(one, ShowSheet)] == ["again"]
    before = len(desk.log)
    desk.connect()
    new = sheet_of(manifest(agent=other_actions())).fingerprint
    assert desk.log[before:] == [ConsentRecord("notes", new)]
    assert desk.told(page) == [0, 2]
    assert desk.was_delivered(desk.call(task="task-2"))


@pytest.mark.rule("C-2")
def test_after_a_yes_to_the_new_sheet_the_old_one_is_asked_again():
    desk = Desk().with_notes()
    desk.install(manifest(agent=other_actions()))
    desk.connect()
    desk.install(manifest())
    assert desk.router.held("notes")
    made = desk.step(ConnectAsked("again", "task-1", "notes"))
    assert [type(one) for one in made] == [ShowSheet]


@pytest.mark.rule("C-2")
def test_consent_outlives_a_restart():
    desk = Desk().with_notes()
    later = desk.again()
    assert not later.router.held("notes")
    later.attach("task-1")
    later.start_page()
    assert later.was_delivered(later.call())


# --- C-3


@pytest.mark.rule("C-3")
@pytest.mark.parametrize(
    ("facts", "code"),
    [
        ({"kind": TaskKind.ASSISTANT}, PersonCode.ASSISTANT_TASK),
        ({"kind": TaskKind.TERMINAL}, PersonCode.TERMINAL_TASK),
        ({"kind": TaskKind.REMOTE}, PersonCode.REMOTE_TASK),
        ({"supervised": False}, PersonCode.UNSUPERVISED_TASK),
        # The kind is the first reason.
        ({"kind": TaskKind.REMOTE, "supervised": False}, PersonCode.REMOTE_TASK),
    ],
)
def test_only_local_supervised_tasks_connect(facts, code):
    desk = installed(**facts)
    before = list(desk.log)
    desk.connect()
    assert desk.done().code is code
    assert desk.log == before
    assert desk.sheets() == []
    assert desk.listed() == {"panels": []}


@pytest.mark.rule("C-3", "A-1")
@pytest.mark.parametrize(
    "facts",
    [{"kind": kind} for kind in (TaskKind.ASSISTANT, TaskKind.TERMINAL, TaskKind.REMOTE)]
    + [{"supervised": False}],
)
def test_a_connected_task_that_comes_back_as_one_that_may_not_connect_is_not_connected(facts):
    desk = Desk().with_notes()
    desk.attach("task-1", **facts)
    assert desk.code(desk.call()) is AgentCode.NOT_CONNECTED
    assert desk.listed() == {"panels": []}
    assert desk.told("page-1")[-1] == 0
    desk.attach("task-1")
    assert desk.was_delivered(desk.call())
    assert desk.told("page-1")[-1] == 1


@pytest.mark.rule("C-3")
def test_what_is_not_there_does_not_connect():
    desk = installed()
    desk.step(ConnectAsked("one", "task-1", "sketches", "x"))
    assert desk.done() == Done("one", PersonCode.UNKNOWN_PANEL)
    desk.step(ConnectAsked("two", "task-9", "notes", "x"))
    assert desk.done() == Done("two", PersonCode.UNKNOWN_TASK)
    assert desk.router.pending == 0


# --- C-4, C-5: what pages hear


@pytest.mark.rule("C-5")
def test_init_tells_the_tasks_and_connected_follows_once_also_when_there_is_none():
    desk = installed()
    made = desk.step(PageStarted("page-1", "notes"))
    assert [one for one in made if isinstance(one, Init | Connected)] == []
    assert desk.step(PageReady("page-1")) == [Init("page-1", 0), Connected("page-1", 0)]
    assert desk.step(PageReady("page-1")) == []
    assert desk.step(PageReady("no-such-page")) == []
    desk.connect()
    second = desk.start_page("notes", "page-2")
    assert (desk.inits(second), desk.told(second)) == ([1], [1])


@pytest.mark.rule("C-5")
def test_every_change_of_the_number_of_tasks_is_told_once():
    desk = Desk().with_notes()
    desk.attach("task-2")
    desk.connect("task-2")
    desk.connect("task-2")
    desk.step(TaskDetached("task-1"))
    desk.disconnect("task-2")
    desk.disconnect("task-2")
    desk.attach("task-1")
    assert desk.told("page-1") == [1, 2, 1, 0, 1]
    assert desk.inits("page-1") == [1]


@pytest.mark.rule("C-5")
def test_a_page_that_is_not_ready_is_told_no_number():
    desk = Desk().with_notes()
    desk.step(PageStarted("page-2", "notes"))
    desk.disconnect()
    desk.connect()
    assert desk.told("page-2") == []
    assert desk.step(PageReady("page-2")) == [Init("page-2", 1), Connected("page-2", 1)]


@pytest.mark.rule("C-4")
def test_the_extras_page_is_told_no_task_and_gets_no_call():
    desk = Desk().with_notes()
    extras = desk.start_page("notes", kind="extras")
    assert (desk.inits(extras), desk.told(extras)) == ([0], [0])
    assert desk.delivered(desk.call()).instance == "page-1"
    desk.close_page("page-1")
    assert desk.code(desk.call()) is AgentCode.PANEL_NOT_RUNNING
    desk.attach("task-2")
    desk.connect("task-2")
    assert desk.told(extras) == [0]


@pytest.mark.rule("A-2")
def test_a_page_of_a_panel_that_is_not_installed_is_closed():
    desk = Desk()
    assert desk.step(PageStarted("page-1", "notes")) == [ClosePage("page-1")]
    assert desk.step(PageReady("page-1")) == []


# --- C-6


@pytest.mark.rule("C-6")
def test_off_means_an_empty_list_no_task_for_pages_and_on_again_is_as_before():
    desk = Desk().with_notes()
    desk.turn_off()
    assert desk.listed() == {"panels": []}
    assert desk.reply(desk.call()).text == refusal(AgentCode.TURNED_OFF)
    desk.turn_on()
    assert [one["panel"] for one in desk.listed()["panels"]] == ["notes"]
    assert desk.was_delivered(desk.call())
    assert desk.told("page-1") == [1, 0, 1]
    assert desk.sheets() == []


@pytest.mark.rule("C-6")
def test_off_outlives_a_restart():
    desk = Desk().with_notes()
    desk.turn_off()
    later = desk.again()
    later.attach("task-1")
    assert later.code(later.call()) is AgentCode.TURNED_OFF


@pytest.mark.rule("C-6")
def test_off_said_while_on_is_written_stays_off():
    desk = Desk().with_notes()
    desk.turn_off()
    desk.holding = {"store"}
    desk.turn_on()
    desk.turn_off()
    desk.finish()
    assert desk.code(desk.call()) is AgentCode.TURNED_OFF
    desk.finish()
    assert desk.code(desk.call()) is AgentCode.TURNED_OFF
    assert desk.log[-2:] == [SwitchRecord(on=True), SwitchRecord(on=False)]
    assert desk.at_rest()


# --- C-7, and asks in their order


@pytest.mark.rule("C-7")
def test_disconnecting_what_is_still_being_connected_leaves_it_disconnected():
    desk = installed()
    page = desk.start_page()
    desk.holding = {"store"}
    desk.connect()
    desk.disconnect()
    desk.finish()
    assert desk.router.connected("task-1") == ()
    assert desk.code(desk.call()) is AgentCode.NOT_CONNECTED
    desk.finish()
    assert desk.log[-1] == DisconnectionRecord("task-1", "notes")
    assert desk.router.connected("task-1") == ()
    assert desk.again().router.connected("task-1") == ()
    assert desk.told(page)[-1] == 0


@pytest.mark.rule("C-6", "C-7")
def test_what_is_asked_to_be_taken_away_is_away_however_many_asks_are_written_before_it():
    desk = installed()
    page = desk.start_page()
    desk.turn_off()
    desk.holding = {"store"}
    desk.turn_on()
    desk.connect()
    desk.install(manifest("sketches"))
    desk.disconnect()
    desk.turn_off()
    while desk.held:
        desk.finish()
        # Neither the connection nor being on counts for one moment between two commits.
        assert desk.router.connected("task-1") == ()
        assert desk.code(desk.call()) is AgentCode.TURNED_OFF
    assert desk.told(page)[-1] == 0
    assert desk.at_rest()


@pytest.mark.rule("C-7", "R-1")
def test_disconnecting_and_connecting_again_gives_a_connection_that_works():
    desk = Desk().with_notes()
    desk.disconnect()
    desk.connect()
    assert desk.was_delivered(desk.call())


@pytest.mark.rule("P-6")
def test_asks_are_written_one_at_a_time_in_the_order_in_which_they_came():
    desk = Desk()
    desk.holding = {"store"}
    desk.step(InstallAsked("one", manifest()))
    desk.step(InstallAsked("two", manifest("sketches")))
    desk.step(TaskAttached("task-1"))
    desk.step(ConnectAsked("three", "task-1", "notes", sheet_of(manifest()).fingerprint))
    assert len(desk.held) == 1
    assert desk.router.pending == 3
    for ask in ("one", "two", "three"):
        desk.finish()
        assert desk.done() == Done(ask)
    assert desk.router.connected("task-1") == ("notes",)
    assert desk.at_rest()


@pytest.mark.rule("P-6", "C-2")
@pytest.mark.parametrize("what", ["install", "connect", "uninstall", "turn_on"])
def test_a_store_that_fails_changes_nothing_and_the_next_ask_goes_on(what):
    desk = installed()
    if what == "uninstall":
        desk.connect()
    if what == "turn_on":
        desk.turn_off()
    before = list(desk.log)
    desk.failing = {"store"}
    ask = {
        "install": lambda: desk.install(manifest(version="2.0.0")),
        "connect": desk.connect,
        "uninstall": desk.uninstall,
        "turn_on": desk.turn_on,
    }[what]
    ask()
    assert desk.done().failed
    assert desk.done().code is None
    assert desk.log == before
    assert desk.router.installed()["notes"][0].version == "1.0.0"
    assert (desk.router.connected("task-1") == ("notes",)) is (what == "uninstall")
    assert (desk.code(desk.call()) is AgentCode.TURNED_OFF) is (what == "turn_on")
    desk.failing = set()
    ask()
    assert not desk.done().failed
    assert len(desk.log) > len(before)
    assert desk.at_rest()


@pytest.mark.rule("C-7", "C-6")
def test_what_was_taken_away_stays_away_in_this_run_although_the_store_failed():
    desk = Desk().with_notes()
    desk.failing = {"store"}
    desk.disconnect()
    assert desk.done().failed
    assert desk.code(desk.call()) is AgentCode.NOT_CONNECTED
    desk.turn_off()
    assert desk.code(desk.call()) is AgentCode.TURNED_OFF


# --- P-6: the ledger


@pytest.mark.rule("P-6")
def test_the_ledger_entry_is_written_with_the_install_that_first_declares_agent():
    desk = Desk()
    desk.holding = {"store"}
    desk.install(manifest())
    (persist,) = desk.held
    assert [type(one) for one in persist.records] == [LedgerRecord, InstallRecord]
    assert not desk.router.ledger.ever("notes")
    # The page of a version that is not durable does not run.
    assert desk.step(PageStarted("page-1", "notes")) == [ClosePage("page-1")]
    desk.finish()
    assert desk.router.ledger.ever("notes")
    desk.install(manifest(version="1.0.1"))
    assert [type(one) for one in desk.held[0].records] == [InstallRecord]


def online(version: str) -> dict[str, object]:
    plain = notes_json(version=version, network=["example.org"])
    del plain["agent"], plain["permissions"]
    return plain


@pytest.mark.rule("P-6", "G-3")
def test_a_panel_that_once_worked_with_agents_may_never_go_online_also_after_uninstalling():
    desk = Desk()
    desk.install(manifest())
    desk.uninstall()
    assert desk.router.installed() == {}
    for later in (desk, desk.again()):
        before = list(later.log)
        going = check_panel(online("0.9.0"))
        assert going.manifest is not None
        later.install(going.manifest)
        assert later.done().code is PersonCode.LEDGER_REFUSED
        assert later.log == before
        assert later.router.installed() == {}


@pytest.mark.rule("P-6")
def test_a_panel_that_never_worked_with_agents_may_go_online_and_then_declare_agent():
    desk = Desk()
    going = check_panel(online("1.0.0")).manifest
    assert going is not None
    desk.install(going)
    assert desk.done().code is None
    assert not desk.router.ledger.ever("notes")
    desk.attach("task-1")
    desk.step(ConnectAsked("early", "task-1", "notes", "x"))
    assert desk.done() == Done("early", PersonCode.NO_ACTIONS)
    desk.install(manifest(version="2.0.0"))
    assert desk.router.ledger.ever("notes")
    desk.install(going)
    assert desk.done().code is PersonCode.LEDGER_REFUSED
    assert desk.router.installed()["notes"][0].version == "2.0.0"


@pytest.mark.rule("P-6")
def test_two_installs_that_race_are_judged_by_the_ledger_as_it_is_when_their_turn_comes():
    desk = Desk()
    going = check_panel(online("2.0.0")).manifest
    assert going is not None
    desk.holding = {"store"}
    desk.install(manifest())
    desk.install(going)
    desk.finish()
    assert desk.done().code is PersonCode.LEDGER_REFUSED


# --- G-3: uninstalling


@pytest.mark.rule("G-3", "C-7")
def test_uninstalling_takes_pages_connections_and_consent_with_it():
    desk = Desk().with_notes()
    call = desk.call()
    desk.uninstall()
    assert desk.reply(call).text == refusal(AgentCode.NOT_CONNECTED, happened=True)
    assert desk.closed() == ["page-1"]
    assert desk.router.installed() == {}
    assert desk.router.connected("task-1") == ()
    assert desk.log[-1] == UninstallRecord("notes")
    assert desk.code(desk.call()) is AgentCode.NOT_CONNECTED
    desk.install(manifest())
    for later in (desk, desk.again()):
        later.attach("task-1")
        assert later.router.connected("task-1") == ()
        assert later.router.held("notes")
        made = later.step(ConnectAsked("again", "task-1", "notes"))
        assert [type(one) for one in made] == [ShowSheet]


@pytest.mark.rule("G-3")
def test_uninstalling_what_is_not_installed_is_refused():
    desk = Desk()
    desk.uninstall("notes")
    assert desk.done().code is PersonCode.UNKNOWN_PANEL
    assert desk.log == []


@pytest.mark.rule("A-8")
def test_a_panel_installed_again_has_all_its_room():
    desk = Desk(open_calls_per_panel=1).with_notes()
    desk.call()
    desk.uninstall()
    desk.install(manifest())
    desk.connect()
    desk.start_page()
    assert desk.was_delivered(desk.call())


# --- restarts


@pytest.mark.rule("C-2", "C-6", "P-6")
def test_a_router_made_from_the_log_knows_what_the_one_before_knew():
    desk = Desk().with_notes()
    desk.install(manifest("sketches"))
    desk.connect(panel="sketches")
    desk.attach("task-2")
    desk.connect("task-2", "sketches")
    desk.connect("task-2", "notes")
    desk.disconnect("task-1", "notes")
    later = desk.again()
    assert later.router.installed() == desk.router.installed()
    assert later.router.ledger == desk.router.ledger
    for task in ("task-1", "task-2"):
        assert later.router.connected(task) == desk.router.connected(task)
    assert later.router.connected("task-2") == ("sketches", "notes")
    assert later.at_rest()


@pytest.mark.rule("C-5")
def test_tasks_that_are_not_here_yet_are_not_counted_after_a_restart():
    desk = Desk().with_notes()
    later = desk.again()
    page = later.start_page()
    later.attach("task-1")
    assert later.told(page) == [0, 1]


# --- L-1 to L-4 through the router


@pytest.mark.rule("L-2")
def test_panels_are_listed_in_connection_order_and_actions_in_the_manifests():
    desk = installed()
    desk.install(manifest("sketches"))
    desk.connect(panel="sketches")
    desk.connect(panel="notes")
    listed = desk.listed()
    assert [one["panel"] for one in listed["panels"]] == ["sketches", "notes"]
    actions = listed["panels"][0]["actions"]
    assert [one["name"] for one in actions] == ["list_notes", "add_note"]
    assert ["output" in one for one in actions] == [True, False]
    desk.disconnect(panel="sketches")
    desk.connect(panel="sketches")
    assert [one["panel"] for one in desk.listed()["panels"]] == ["notes", "sketches"]


@pytest.mark.rule("L-1")
def test_a_task_lists_only_what_is_connected_to_it():
    desk = Desk().with_notes()
    desk.attach("task-2")
    assert desk.listed("task-2") == {"panels": []}
    request = "stray"
    desk.step(ListRequested(request, "no-such-task", "turn"))
    assert desk.reply(request).text == '{"panels":[]}'


@pytest.mark.rule("L-1", "A-9")
def test_a_list_for_a_turn_that_is_over_is_stopped():
    desk = Desk().with_notes()
    desk.end_turn()
    desk.step(ListRequested("late", "task-1", desk.turns["task-1"]))
    assert desk.reply("late").text == refusal(AgentCode.STOPPED)
    assert desk.reply("late").code is AgentCode.STOPPED


@pytest.mark.rule("L-3")
def test_the_list_stays_within_its_bytes_and_a_call_to_a_left_out_action_works():
    desk = Desk(list_bytes=500).with_notes()
    request = "list"
    desk.step(ListRequested(request, "task-1", desk.turns["task-1"]))
    text = desk.reply(request).text
    assert len(text.encode()) <= 500
    (listed,) = desk.listed()["panels"]
    names = [one["name"] for one in listed["actions"]]
    assert "add_note" not in names
    assert listed["left_out"] == 2 - len(names)
    assert desk.was_delivered(desk.call("add_note"))


@pytest.mark.rule("L-4")
def test_an_action_stored_before_the_rule_on_tokens_is_not_listed_nor_called_and_the_rest_works():
    stale = notes_json()
    stale["agent"]["actions"][0]["input"]["properties"]["bad name"] = {"type": "boolean"}
    desk = Desk([InstallRecord("notes", "1.0.0", dumps(stale), None)])
    desk.attach("task-1")
    desk.connect()
    desk.start_page()
    (listed,) = desk.listed()["panels"]
    assert [one["name"] for one in listed["actions"]] == ["add_note"]
    assert desk.reply(desk.call("list_notes")).text == refusal(AgentCode.UNKNOWN_ACTION)
    assert desk.was_delivered(desk.call("add_note"))


# --- notices and counts


@pytest.mark.rule("B-2", "B-1")
def test_each_thing_that_happens_is_noticed_once_and_without_payload():
    desk = Desk().with_notes()
    call = desk.call()
    desk.answer(call, {"ok": True})
    desk.turn_off()
    desk.turn_on()
    desk.disconnect()
    desk.uninstall()
    assert [one.notice for one in desk.notices()] == [
        Notice(NoticeKind.INSTALLED, "notes"),
        Notice(NoticeKind.CONNECTED, "notes", "task-1"),
        Notice(NoticeKind.PAGE_STARTED, "notes"),
        Notice(NoticeKind.CALL_STARTED, "notes", "task-1", "add_note"),
        Notice(NoticeKind.CALL_ENDED, "notes", "task-1", "add_note"),
        Notice(NoticeKind.TURNED_OFF),
        Notice(NoticeKind.TURNED_ON),
        Notice(NoticeKind.DISCONNECTED, "notes", "task-1"),
        Notice(NoticeKind.PAGE_CLOSED, "notes"),
        Notice(NoticeKind.UNINSTALLED, "notes"),
    ]


@pytest.mark.rule("B-1")
def test_each_call_that_ended_is_counted_once_with_its_code():
    desk = Desk().with_notes()
    good, slow = desk.call("list_notes"), desk.call()
    desk.answer(good, {"notes": []})
    desk.wait(30)
    desk.call("add_note", {})
    assert desk.counts() == [
        Count("notes", "list_notes", None),
        Count("notes", "add_note", AgentCode.PANEL_TIMEOUT),
        Count("notes", "add_note", AgentCode.INVALID_INPUT),
    ]
    assert desk.code(slow) is AgentCode.PANEL_TIMEOUT


@pytest.mark.rule("P-6")
def test_the_folder_a_panel_came_from_is_kept_with_it():
    desk = Desk()
    desk.step(InstallAsked("one", manifest(), "/panels/notes"))
    assert [one.op for one in desk.all(Persist)] == [1]
    for later in (desk, desk.again()):
        assert later.router.installed()["notes"][1] == "/panels/notes"
    assert Notify(Notice(NoticeKind.INSTALLED, "notes")) in desk.effects
