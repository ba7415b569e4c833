"""What the store keeps: records, storage, files and counts, each change whole or not at all."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from attrs import evolve
from hypothesis import given, settings
from hypothesis import strategies as st

from deska_host.store import CountRow, Store, open_store
from deska_sdk.errors import PageCode, PageError
from deska_sdk.limits import DEFAULT_LIMITS, MB
from deska_sdk.records import (
    ConnectionRecord,
    ConsentRecord,
    CounterBlockRecord,
    DisconnectionRecord,
    InstallRecord,
    LedgerRecord,
    Record,
    SwitchRecord,
    UninstallRecord,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

SMALL = evolve(DEFAULT_LIMITS, storage_bytes=100, file_bytes=60, files_bytes=100)
PRIVATE = "what the page wrote"


@pytest.fixture(params=["memory", "file"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    path = None if request.param == "memory" else tmp_path / "desk.db"
    with open_store(path, limits=SMALL) as store:
        yield store


def page_code(use: Callable[[], object]) -> PageCode:
    """The code the page is refused with; the error says nothing else."""
    with pytest.raises(PageError) as caught:
        use()
    assert caught.value.__context__ is None
    assert str(caught.value) == str(PageError(caught.value.code))
    return caught.value.code


# --- the engine's records ---------------------------------------------------------------------

PANELS = st.sampled_from(["garden", "kitchen", "attic"])
TASKS = st.sampled_from(["t1", "t2", "t3"])
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
RECORDS = st.one_of(
    st.builds(InstallRecord, PANELS, TEXTS, TEXTS, st.one_of(st.none(), TEXTS)),
    st.builds(UninstallRecord, PANELS),
    st.builds(LedgerRecord, PANELS),
    st.builds(ConsentRecord, PANELS, st.sampled_from(["aa", "bb", "cc"])),
    st.builds(ConnectionRecord, TASKS, PANELS),
    st.builds(DisconnectionRecord, TASKS, PANELS),
    st.builds(CounterBlockRecord, TASKS, PANELS, st.integers(0, 2**53)),
    st.builds(SwitchRecord, st.booleans()),
)


class Desk:
    """The replay of records, in the plainest words: what the desk is after them."""

    def __init__(self, records: list[Record]) -> None:
        self.switch: bool | None = None
        self.ledger: set[str] = set()
        self.installs: dict[str, InstallRecord] = {}
        self.consents: dict[str, str] = {}
        self.agreed: dict[str, set[str]] = {}
        self.connections: dict[tuple[str, str], None] = {}
        self.high: dict[tuple[str, str], int] = {}
        for record in records:
            self.play(record)

    def play(self, record: Record) -> None:
        match record:
            case InstallRecord(panel):
                self.installs[panel] = record
            case UninstallRecord(panel):
                self.installs.pop(panel, None)
                self.consents.pop(panel, None)
                self.agreed.pop(panel, None)
                self.connections = {key: None for key in self.connections if key[1] != panel}
            case LedgerRecord(panel):
                self.ledger.add(panel)
            case ConsentRecord(panel, fingerprint):
                self.consents[panel] = fingerprint
                self.agreed.setdefault(panel, set()).add(fingerprint)
            case ConnectionRecord(task, panel):
                self.connections[task, panel] = None
            case DisconnectionRecord(task, panel):
                self.connections.pop((task, panel), None)
            case CounterBlockRecord(task, panel, high):
                self.high[task, panel] = max(high, self.high.get((task, panel), 0))
            case SwitchRecord(on):
                self.switch = on

    def state(self) -> tuple[object, ...]:
        """All of it; the order counts where a list of the desk shows one."""
        return (
            self.switch,
            self.ledger,
            list(self.installs.items()),
            self.consents,
            self.agreed,
            list(self.connections),
            self.high,
        )


@pytest.mark.rule("G-3", "P-6", "R-2", "C-2")
@settings(max_examples=150, deadline=None)
@given(changes=st.lists(st.lists(RECORDS, max_size=4), max_size=12))
def test_what_is_loaded_replays_to_the_same_desk_as_what_was_applied(
    changes: list[list[Record]],
) -> None:
    with open_store(None) as store:
        for change in changes:
            store.apply(change)
        loaded = store.load()
        applied = [record for change in changes for record in change]
        assert Desk(list(loaded)).state() == Desk(applied).state()
        # What was loaded can stand for what was applied, also in a new store.
        with open_store(None) as other:
            other.apply(loaded)
            assert other.load() == loaded


@pytest.mark.rule("G-3")
def test_a_folder_whose_name_is_not_utf_8_comes_back_as_it_was(store: Store) -> None:
    record = InstallRecord("garden", "1.0.0", "{}", "/home/ada/\udcff")
    store.apply([record])
    assert store.load() == (record,)


@pytest.mark.rule("R-2")
def test_a_high_mark_is_never_lowered_not_even_by_uninstalling(store: Store) -> None:
    store.apply([CounterBlockRecord("t1", "garden", 128)])
    store.apply([CounterBlockRecord("t1", "garden", 64), UninstallRecord("garden")])
    store.apply([DisconnectionRecord("t1", "garden")])
    assert store.load() == (CounterBlockRecord("t1", "garden", 128),)


@pytest.mark.rule("G-3", "P-6")
def test_uninstalling_takes_all_of_this_panel_but_ledger_and_counters_and_nothing_of_another(
    store: Store,
) -> None:
    for panel in ("garden", "kitchen"):
        store.apply(
            [
                InstallRecord(panel, "1.0.0", "{}", None),
                LedgerRecord(panel),
                ConsentRecord(panel, "aa"),
                ConnectionRecord("t1", panel),
                CounterBlockRecord("t1", panel, 64),
            ]
        )
        store.storage_set(panel, "key", "1" * 90)
        store.file_put(panel, "f1", "image/png", b"x" * 60)
        store.counts_add([CountRow(panel, "add_note", "", 1, 5.0)])
    store.apply([UninstallRecord("garden")])

    assert {record for record in store.load() if record.panel == "garden"} == {  # type: ignore[union-attr]
        LedgerRecord("garden"),
        CounterBlockRecord("t1", "garden", 64),
    }
    assert store.storage_get("garden", "key") is None
    assert store.file_ids("garden") == ()
    assert store.counts("garden") == ()
    assert len([record for record in store.load() if record.panel == "kitchen"]) == 5  # type: ignore[union-attr]
    assert store.storage_get("kitchen", "key") == "1" * 90
    assert store.file_ids("kitchen") == ("f1",)
    assert len(store.counts("kitchen")) == 1
    # The room is free again too.
    store.storage_set("garden", "key", "1" * 97)
    store.file_put("garden", "f2", "image/png", b"x" * 60)


# --- storage ----------------------------------------------------------------------------------


@pytest.mark.rule("G-3")
def test_a_value_is_there_until_it_is_replaced_or_removed(store: Store) -> None:
    assert store.storage_get("garden", "board") is None
    store.storage_set("garden", "board", "null")
    assert store.storage_get("garden", "board") == "null"
    store.storage_set("garden", "board", '"\0 é \U0001f33b"')
    assert store.storage_get("garden", "board") == '"\0 é \U0001f33b"'
    store.storage_set("garden", "board\0", "2")
    store.storage_set("garden", "", "3")
    store.storage_set("kitchen", "board", "4")
    store.storage_set("garden", "board", None)
    store.storage_set("garden", "board", None)
    assert store.storage_get("garden", "board") is None
    assert store.storage_get("garden", "board\0") == "2"
    assert store.storage_get("garden", "") == "3"
    assert store.storage_get("kitchen", "board") == "4"


@pytest.mark.rule("G-3")
def test_a_panel_may_keep_just_its_quota_counted_in_bytes_of_keys_and_texts(store: Store) -> None:
    # é takes two bytes: 2 + 98 is the quota.
    store.storage_set("garden", "é", "é" * 49)
    assert page_code(lambda: store.storage_set("garden", "é", "é" * 49 + "1")) is (
        PageCode.QUOTA_EXCEEDED
    )
    assert page_code(lambda: store.storage_set("garden", "k", "")) is PageCode.QUOTA_EXCEEDED
    assert store.storage_get("garden", "é") == "é" * 49
    assert store.storage_get("garden", "k") is None
    store.storage_set("kitchen", "k", "1" * 99)
    store.storage_set("garden", "é", "1" * 97)
    store.storage_set("garden", "k", "")
    store.storage_set("garden", "é", None)
    store.storage_set("garden", "k", "1" * 99)


@pytest.mark.rule("G-3")
def test_the_quotas_are_five_two_hundred_and_ten_megabytes() -> None:
    with open_store(None) as store:
        store.storage_set("garden", "k", "1" * (5 * MB - 1))
        assert page_code(lambda: store.storage_set("garden", "k", "1" * (5 * MB))) is (
            PageCode.QUOTA_EXCEEDED
        )
        for number in range(20):
            store.file_put("garden", f"f{number}", "image/png", bytes(10 * MB))
        assert page_code(lambda: store.file_put("garden", "f20", "image/png", b"x")) is (
            PageCode.QUOTA_EXCEEDED
        )
        assert page_code(lambda: store.file_put("attic", "f", "x/y", bytes(10 * MB + 1))) is (
            PageCode.QUOTA_EXCEEDED
        )


@pytest.mark.rule("G-3")
def test_a_panel_over_a_quota_that_was_lowered_can_shrink_but_not_grow(tmp_path: Path) -> None:
    with open_store(tmp_path / "desk.db") as store:
        store.storage_set("garden", "k", "1" * 500)
        for number in range(3):
            store.file_put("garden", f"f{number}", "image/png", b"x" * 60)
    with open_store(tmp_path / "desk.db", limits=SMALL) as store:
        store.storage_set("garden", "k", "1" * 400)
        assert page_code(lambda: store.storage_set("garden", "k", "1" * 401)) is (
            PageCode.QUOTA_EXCEEDED
        )
        assert store.file_delete("garden", "f0")
        assert page_code(lambda: store.file_put("garden", "f3", "image/png", b"x")) is (
            PageCode.QUOTA_EXCEEDED
        )


@pytest.mark.rule("G-3")
@settings(max_examples=100, deadline=None)
@given(
    steps=st.lists(
        st.tuples(
            st.sampled_from(["garden", "kitchen"]),
            st.sampled_from(["a", "b", "é"]),
            st.one_of(st.none(), st.text("1é\U0001f33b", max_size=40)),
        ),
        max_size=25,
    )
)
def test_storage_is_what_a_dict_with_a_quota_would_be(
    steps: list[tuple[str, str, str | None]],
) -> None:
    model: dict[tuple[str, str], str] = {}
    with open_store(None, limits=SMALL) as store:
        for panel, key, text in steps:
            after = {**model, (panel, key): text}
            size = {
                name: sum(
                    len((kept_key + kept).encode())
                    for (owner, kept_key), kept in values.items()
                    if owner == panel and kept is not None
                )
                for name, values in (("before", model), ("after", after))
            }
            if size["after"] > 100 and size["after"] > size["before"]:
                with pytest.raises(PageError):
                    store.storage_set(panel, key, text)
            else:
                store.storage_set(panel, key, text)
                model = {place: kept for place, kept in after.items() if kept is not None}
            for panel_read in ("garden", "kitchen"):
                for key_read in ("a", "b", "é"):
                    kept = store.storage_get(panel_read, key_read)
                    assert kept == model.get((panel_read, key_read))


# --- files ------------------------------------------------------------------------------------


@pytest.mark.rule("G-3")
def test_files_come_back_as_they_were_put_and_in_that_order(store: Store) -> None:
    store.file_put("garden", "z", "image/png", b"\x00\xff")
    store.file_put("garden", "a", "text/x", b"")
    store.file_put("kitchen", "z", "image/webp", b"other")
    assert store.file_ids("garden") == ("z", "a")
    assert store.file_get("garden", "z") == ("image/png", b"\x00\xff")
    assert store.file_get("garden", "a") == ("text/x", b"")
    assert store.file_get("kitchen", "z") == ("image/webp", b"other")
    assert store.file_get("kitchen", "a") is None
    assert store.file_delete("garden", "z")
    assert not store.file_delete("garden", "z")
    assert store.file_get("garden", "z") is None
    assert store.file_ids("garden") == ("a",)
    assert store.file_ids("kitchen") == ("z",)


@pytest.mark.rule("G-3")
def test_a_file_over_a_quota_is_not_kept_and_a_deleted_one_makes_room(store: Store) -> None:
    assert page_code(lambda: store.file_put("garden", "f", "x/y", bytes(61))) is (
        PageCode.QUOTA_EXCEEDED
    )
    store.file_put("garden", "f1", "x/y", bytes(60))
    assert page_code(lambda: store.file_put("garden", "f2", "x/y", bytes(41))) is (
        PageCode.QUOTA_EXCEEDED
    )
    store.file_put("garden", "f3", "x/y", bytes(40))
    assert store.file_ids("garden") == ("f1", "f3")
    store.file_delete("garden", "f1")
    store.file_put("garden", "f2", "x/y", bytes(60))
    assert store.file_ids("garden") == ("f3", "f2")
    # Storage has a room of its own.
    store.storage_set("garden", "k", "1" * 99)


@pytest.mark.rule("G-3")
def test_a_second_file_of_one_id_is_an_error_and_the_first_stays(store: Store) -> None:
    store.file_put("garden", "f1", "x/y", b"first")
    with pytest.raises(ValueError, match=r"^this panel keeps a file with this id$"):
        store.file_put("garden", "f1", "x/y", b"second")
    assert store.file_get("garden", "f1") == ("x/y", b"first")
    store.file_put("garden", "f2", "x/y", bytes(60))


@pytest.mark.rule("G-3", "B-2")
def test_text_that_utf_8_does_not_have_is_refused_and_not_told(store: Store) -> None:
    for use in (
        lambda: store.storage_set("garden", "k", PRIVATE + "\ud800"),
        lambda: store.storage_set("garden", PRIVATE + "\ud800", "1"),
        lambda: store.storage_get("garden", PRIVATE + "\ud800"),
        lambda: store.file_put("garden", "f", PRIVATE + "\ud800", b""),
        lambda: store.file_get("garden", PRIVATE + "\ud800"),
        lambda: store.file_delete("garden", PRIVATE + "\ud800"),
    ):
        assert page_code(use) is PageCode.INVALID_ARGS


# --- counts -----------------------------------------------------------------------------------


@pytest.mark.rule("B-1")
def test_counts_add_up_per_action_and_code_and_keep_the_latest_moment(store: Store) -> None:
    store.counts_add(
        [
            CountRow("garden", "add_note", "", 2, 10.5),
            CountRow("garden", "add_note", "panel_timeout", 1, 11.5),
            CountRow("garden", "", "unknown_action", 1, 12.5),
            CountRow("kitchen", "add_note", "", 1, 13.5),
        ]
    )
    store.counts_add(
        [CountRow("garden", "add_note", "", 3, 9.0), CountRow("garden", "add_note", "", 1, 20.25)]
    )
    assert store.counts("garden") == (
        CountRow("garden", "", "unknown_action", 1, 12.5),
        CountRow("garden", "add_note", "", 6, 20.25),
        CountRow("garden", "add_note", "panel_timeout", 1, 11.5),
    )
    assert store.counts("kitchen") == (CountRow("kitchen", "add_note", "", 1, 13.5),)
    assert store.counts("attic") == ()


@pytest.mark.rule("B-1")
def test_counts_outlive_a_restart_of_the_host(tmp_path: Path) -> None:
    row = CountRow("garden", "add_note", "", 2, 10.5)
    with open_store(tmp_path / "desk.db") as store:
        store.counts_add([row])
    with open_store(tmp_path / "desk.db") as store:
        store.counts_add([row])
        assert store.counts("garden") == (evolve(row, count=4),)
