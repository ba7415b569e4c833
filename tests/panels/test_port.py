"""G-5: the port is a closed table of messages."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deska_sdk.errors import PageCode, PageError
from deska_sdk.panels.port import PORT, Direction, check_message

EVERY = sorted(PORT)


def message(kind: str) -> dict[str, object]:
    return {"type": kind, **dict.fromkeys(PORT[kind].keys, 1)}


def refused(value: object, direction: Direction) -> bool:
    error = None
    try:
        check_message(value, direction)
    except PageError as caught:
        error = caught
    if error is None:
        return False
    assert error.code is PageCode.INVALID_ARGS
    assert error.__context__ is None
    assert "SECRET" not in f"{error!r}{error}"
    return True


@pytest.mark.rule("G-5")
def test_the_table_is_this_and_no_more():
    to_host = {kind for kind, one in PORT.items() if one.direction is Direction.TO_HOST}
    assert to_host == {
        "ready",
        "agent.respond",
        "agent.offer",
        "storage.get",
        "storage.set",
        "files.put",
        "files.get",
        "files.ids",
        "files.delete",
        "save",
        "copy",
        "notify",
    }
    assert set(PORT) - to_host == {"init", "agent.connected", "agent.action", "settled", "refused"}


@pytest.mark.rule("G-5")
def test_no_message_to_a_page_says_which_task_turn_or_agent_called():
    told = {kind: one.keys for kind, one in PORT.items() if one.direction is Direction.TO_PAGE}
    assert told == {
        "init": {"agent"},
        "agent.connected": {"tasks"},
        "agent.action": {"callId", "action", "input"},
        "settled": {"id", "value"},
        "refused": {"id", "code"},
    }


@pytest.mark.rule("G-5")
def test_what_a_page_can_ask_for_is_answered_under_an_id_but_ready():
    for kind, one in PORT.items():
        if one.direction is Direction.TO_HOST:
            assert one.answered is (kind != "ready")
            assert ("id" in one.keys) is one.answered
        else:
            assert not one.answered


@pytest.mark.rule("G-5")
@pytest.mark.parametrize("kind", EVERY)
def test_a_message_passes_in_its_direction_with_all_its_keys_and_no_other(kind):
    mine = PORT[kind].direction
    (other,) = set(Direction) - {mine}
    right = message(kind)
    assert check_message(right, mine) is right
    assert refused(right, other)
    assert refused({**right, "SECRET": 1}, mine)
    for key in right:
        assert refused({name: value for name, value in right.items() if name != key}, mine)
        swapped = {"SECRET" if name == key else name: value for name, value in right.items()}
        assert refused(swapped, mine)


@pytest.mark.rule("G-5", "B-2")
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.sampled_from(EVERY),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(st.text(max_size=5) | st.just("type"), inner, max_size=3)
        ),
        max_leaves=6,
    ),
    st.sampled_from(list(Direction)),
)
def test_anything_else_is_invalid_args_and_no_other_error(value, direction):
    kind = value.get("type") if type(value) is dict else None
    in_table = (
        type(kind) is str
        and kind in PORT
        and PORT[kind].direction is direction
        and value.keys() == PORT[kind].keys | {"type"}
    )
    assert refused(value, direction) is not in_table


@pytest.mark.rule("G-5")
def test_only_a_plain_dict_is_a_message():
    class Sly(dict):
        pass

    for sly in (Sly(message("ready")), [("type", "ready")], "ready", None, {"type": ["ready"]}):
        assert refused(sly, Direction.TO_HOST)
