"""The rules of what panel.json says under ``agent`` (P-3, P-4)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from deska_sdk.panels import formats
from deska_sdk.panels.findings import Findings, as_array, as_object
from deska_sdk.panels.text_rules import a_text, check_folded, check_length, unknown_key
from deska_sdk.problems import pointer
from deska_sdk.schema.parse import TOKEN_CODES, parse_schema
from deska_sdk.schema.raw import shown

if TYPE_CHECKING:
    from deska_sdk.schema.nodes import Side

KINDS: Final = ("read", "write")
_KEYS: Final = ("name", "description", "kind", "input", "output")
_REQUIRED: Final = ("name", "description", "kind", "input")

#: Problems that a key has, where the schema's parser points at the key's value.
_ABOUT_KEYS: Final = TOKEN_CODES | {"unknown_keyword"}
#: Problems that only keep one action of a stored manifest from being used (L-4).
STALE: Final = TOKEN_CODES | {"key_too_long"}


def check_agent(found: Findings, value: object, where: str) -> None:
    """Check the object ``agent`` and all its actions."""
    agent = as_object(value)
    if agent is None:
        found.problem("wrong_type", where, "agent is an object with its actions", shown(value))
        return
    for key in agent:
        if key != "actions":
            unknown_key(found, key, pointer(where, key), ("actions",))
    if "actions" not in agent:
        found.problem("missing_key", where, '"actions" is missing here', "actions")
        return
    place = pointer(where, "actions")
    actions = as_array(agent["actions"])
    most = found.limits.actions
    if actions is None:
        found.problem("wrong_type", place, "actions is an array", shown(agent["actions"]))
        return
    if not 1 <= len(actions) <= most:
        sentence = f"a panel has 1 to {most} actions, and this one has {len(actions)}"
        found.problem("action_count", place, sentence)
    names: set[str] = set()
    for index, action in enumerate(actions):
        _check_action(found, action, pointer(place, index), names)


def _check_action(found: Findings, value: object, where: str, names: set[str]) -> None:
    action = as_object(value)
    if action is None:
        found.problem("wrong_type", where, "an action is an object", shown(value))
        return
    kind = action.get("kind")
    for key, member in action.items():
        place = pointer(where, key)
        match key:
            case "name":
                _check_name(found, member, place, names)
            case "description":
                text = a_text(found, member, place)
                if text is not None:
                    check_folded(found, text, place, found.limits.action_description)
            case "kind":
                if type(member) is not str or member not in KINDS:
                    found.problem("bad_kind", place, "kind is read or write", shown(member))
            case "output" if kind == "write":
                sentence = "a write has no output: it answers only whether it worked"
                found.problem("output_on_write", place, sentence, key, key=True)
            case "input" | "output":
                _check_schema(found, member, key, place)
            case _:
                unknown_key(found, key, place, _KEYS)
    required = (*_REQUIRED, "output") if kind == "read" else _REQUIRED
    for key in required:
        if key not in action:
            found.problem("missing_key", where, f'"{key}" is missing here', key)


def _check_name(found: Findings, value: object, where: str, names: set[str]) -> None:
    name = a_text(found, value, where)
    if name is None:
        return
    if not formats.fits(formats.ACTION_NAME, name):
        sentence = (
            "the name of an action starts with a lower-case letter and is made of lower-case "
            "letters, digits and _"
        )
        found.problem("bad_action_name", where, sentence, name)
    else:
        check_length(found, name, where, found.limits.action_name)
    if name in names:
        found.problem("duplicate", where, "another action has this name", name)
    names.add(name)


def _check_schema(found: Findings, value: object, side: Side, where: str) -> None:
    """Check a schema by the dialect's own parser (D-1…D-6)."""
    # A pointer repeats the keys above it, so thousands of problems under one huge key would take
    # gigabytes to tell. Such a key is refused (D-2, D-6) before anything below it is read.
    long = _long_key(value, where, 4 * found.limits.token)
    if long is not None:
        key, place = long
        sentence = "no key in a schema is as long as this one; the rest of it was not checked"
        found.problem("key_too_long", place, sentence, key, key=True)
        return
    _, problems = parse_schema(value, side, limits=found.limits, where=where)
    for problem in problems:
        found.add(problem, key=problem.code in _ABOUT_KEYS)


def _long_key(value: object, where: str, limit: int) -> tuple[str, str] | None:
    """The first key in ``value`` with more than ``limit`` code points, and where it stands.

    ``value`` was read by P-1's rules, so its nesting is bounded.
    """
    members = as_object(value)
    inner = members.items() if members is not None else enumerate(as_array(value) or ())
    for key, item in inner:
        place = pointer(where, key)
        if isinstance(key, str) and len(key) > limit:
            return key, place
        found = _long_key(item, place, limit) if type(item) in (dict, list) else None
        if found is not None:
            return found
    return None
