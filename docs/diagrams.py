"""The parts of the documentation that are made from the code, so that they cannot differ from it.

Run it with the package installed (``pip install -e .``)::

    python docs/diagrams.py           # writes what is stale
    python docs/diagrams.py --check   # writes nothing; fails where something is stale

A generated part stands between ``<!-- made: NAME -->`` and ``<!-- end: NAME -->``. Everything else
in a page is written by hand and is left alone.
"""

from __future__ import annotations

import argparse
import inspect
import re
import sys
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, get_args

from attrs import fields

from deska_sdk import router
from deska_sdk.errors import (
    MAY_HAVE_HAPPENED,
    AgentCode,
    Code,
    PageCode,
    PersonCode,
    sentence,
)
from deska_sdk.limits import DEFAULT_LIMITS, MB, Limits
from deska_sdk.panels.port import PORT, Direction
from deska_sdk.panels.tables import (
    ASK,
    ASK_CAUSE,
    DEFERRED,
    DEFERRED_COUNTS,
    MAY_HAVE_HAPPENED_CODES,
    REQUEST,
    AskState,
    Cause,
    DeferredState,
    RequestState,
)
from deska_sdk.problems import Fault, Rule
from deska_sdk.tasks.tables import PAUSE, PauseCause, PauseState

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

DOCS = Path(__file__).parent

#: Which event ends what a *starts* effect began.
COMPLETIONS = {
    router.ReadImage: router.ImageRead,
    router.EncodeImage: router.ImageEncoded,
    router.FindFiles: router.FilesFound,
    router.SwitchMode: router.ModeSwitched,
    router.Persist: router.Committed,
}

#: What each limit holds. A limit without a sentence stops this script.
MEANING = {
    "manifest_bytes": "size of a panel.json",
    "json_nesting": "how deep JSON may nest",
    "integer_digits": "digits of one integer in JSON text",
    "panel_id": "length of a panel's `id`",
    "panel_name": "length of a panel's `name` after folding",
    "panel_description": "length of a panel's `description`",
    "author": "length of `author`, and of `license`",
    "actions": "actions of one panel",
    "action_name": "length of an action's `name`",
    "action_description": "length of an action's `description` after folding",
    "quoted": "how much of an offending text a problem quotes",
    "schema_levels": "levels of a schema, the root counted",
    "token": "length of a property name, and of an enum value",
    "max_length": "largest `maxLength` a schema may set",
    "max_items": "largest `maxItems` a schema may set",
    "properties": "properties of one object in a schema",
    "enum_values": "values of one `enum`",
    "schema_description": "length of a `description` inside a schema",
    "faults": "faults told about one value",
    "call_text": "length of a call's input when it comes as JSON text",
    "list_bytes": "size of what `list_panels` answers, in UTF-8",
    "preparing_seconds": "time to read the images of a call",
    "waiting_seconds": "time a page has to answer",
    "finishing_images_seconds": "time to encode the images of an answer",
    "switching_seconds": "time to put the task into Supervised, and to reserve revision numbers",
    "buffered_calls": "calls kept for a page that does not listen yet",
    "open_calls_per_connection": "open calls between one task and one panel",
    "open_calls_per_panel": "open calls of one panel, from all tasks",
    "image_bytes_per_panel": "image bytes held for the open calls of one panel",
    "revision": "length of the `revision` in a write's answer",
    "revisions_kept": "revisions remembered for one task and one panel",
    "counter_block": "revision numbers reserved in the store at a time",
    "answer": "length of a read's answer as compact JSON, as sent and as escaped",
    "offer_text": "length of the text in an offer, as the page sent it",
    "offer_images": "different images in an offer",
    "image_path": "length of an image path",
    "image_bytes": "size of one image file",
    "image_pixels": "pixels of one image",
    "image_side": "longer side of an image that an agent receives",
    "images": "images in one call, and in one answer",
    "png_bytes": "size of all images of one answer together",
    "decode_seconds": "time to decode one image",
    "decode_memory_bytes": "memory of the process that decodes, where the system can cap it",
    "worker_idle_seconds": "how long that process stays without work",
    "storage_bytes": "what one panel may keep in `deska.storage`, keys counted",
    "files_bytes": "what one panel may keep in `deska.files`",
    "file_bytes": "size of one file there",
}


#: The rule of a limit, where several share a group in the source of Limits.
RULES = {
    "schema_levels": "D-1",
    "token": "D-2",
    "max_length": "D-3",
    "max_items": "D-3",
    "properties": "D-3",
    "enum_values": "D-3",
    "schema_description": "D-5",
    "image_path": "I-1",
    "image_bytes": "I-1",
    "image_pixels": "I-6",
    "image_side": "I-5",
    "images": "I-3",
    "png_bytes": "I-4",
    "decode_seconds": "I-6",
    "decode_memory_bytes": "I-6",
    "worker_idle_seconds": "I-6",
}


# -- what is made


def request_diagram() -> str:
    """The agent's request as a Mermaid state diagram, and as the table it is drawn from."""
    open_states = [state for state in RequestState if state is not RequestState.ENDED]
    anywhere = [
        cause
        for cause in Cause
        if len({REQUEST.get((state, cause)) for state in open_states}) == 1
        and (open_states[0], cause) in REQUEST
    ]
    lines = ["```mermaid", "stateDiagram-v2", "    [*] --> open", "    state open {"]
    lines += [f'        state "{state}" as {_word(state)}' for state in open_states]
    lines.append(f"        [*] --> {_word(open_states[0])}")
    arrows: dict[tuple[RequestState, RequestState], list[str]] = {}
    for (state, cause), move in REQUEST.items():
        if cause not in anywhere:
            arrows.setdefault((state, move.to), []).append(_label(cause, move.code))
    inner: list[str] = []
    outer: list[str] = []
    for (state, to), labels in arrows.items():
        arrow = f"{_word(state)} --> {_word(to)}: {', '.join(labels)}"
        (outer if to is RequestState.ENDED else inner).append(arrow)
    lines += [f"        {arrow}" for arrow in inner] + ["    }"] + [f"    {a}" for a in outer]
    labels = [_label(cause, REQUEST[open_states[0], cause].code) for cause in anywhere]
    lines += [f"    open --> ended: {', '.join(labels)}", "    ended --> [*]", "```", ""]
    rows = [
        (state, cause, move.to, f"`{move.code}`" if move.code else _no_code(cause, move.to))
        for (state, cause), move in REQUEST.items()
    ]
    return (
        "\n".join(lines) + "\n" + _table(("state", "what happens", "next", "the agent gets"), rows)
    )


def ask_diagram() -> str:
    """The page's ask as a Mermaid state diagram, and what moves it."""
    lines = ["```mermaid", "stateDiagram-v2", f"    [*] --> {AskState.DELIVERED}"]
    lines += [f"    {state} --> {to}: {cause}" for (state, cause), to in ASK.items()]
    lines += [f"    {to} --> [*]" for to in dict.fromkeys(ASK.values())]
    rows = [(cause, asked, ASK[AskState.DELIVERED, asked]) for cause, asked in ASK_CAUSE.items()]
    head = ("what ends the waiting request", "moves the ask by", "to")
    return "\n".join([*lines, "```", ""]) + "\n" + _table(head, rows)


#: What each cause of the pause means.
PAUSE_MEANS = {
    PauseCause.CONTENT: "content of a panel wants in",
    PauseCause.SWITCHED: "the agent is in Supervised, and the store knows",
    PauseCause.FAILED: "it was not switched",
    PauseCause.ABANDONED: "nobody waits, or it took too long: the switch is taken back",
    PauseCause.PERSON: "the person changed the mode themselves",
    PauseCause.NOT_CHANGED: "that change took the place of the old mode, and was not made",
    PauseCause.TURN_ENDED: "the turn is over, in any way",
    PauseCause.RESTORED: "the mode from before is back",
    PauseCause.NOT_RESTORED: "it could not be put back, or not in time",
    PauseCause.LEFT: "the task was detached",
}


def pause_diagram() -> str:
    """The pause as a Mermaid state diagram, and as the table it is drawn from."""
    lines = ["```mermaid", "stateDiagram-v2", f"    [*] --> {PauseState.NONE}"]
    lines += _arrows({key: to for key, to in PAUSE.items() if key[1] is not PauseCause.LEFT})
    rows = [(state, cause, to, PAUSE_MEANS[cause]) for (state, cause), to in PAUSE.items()]
    head = ("state", "what happens", "next", "that is")
    return "\n".join([*lines, "```", ""]) + "\n" + _table(head, rows)


def deferred_diagram() -> str:
    """A deferred read as a Mermaid state diagram, and as the table it is drawn from."""
    lines = ["```mermaid", "stateDiagram-v2", f"    [*] --> {_word(DeferredState.ASKED)}"]
    lines += [f'    state "{state}" as {_word(state)}' for state in DeferredState if " " in state]
    lines += _arrows(DEFERRED)
    ends = (DeferredState.IN_ITS_TURN, DeferredState.DROPPED)
    lines += [f"    {_word(state)} --> [*]" for state in ends]
    rows = [
        (state, cause, to, f"`{code}`" if (code := DEFERRED_COUNTS.get(cause)) else "")
        for (state, cause), to in DEFERRED.items()
    ]
    head = ("state", "what happens", "next", "counted as")
    return "\n".join([*lines, "```", ""]) + "\n" + _table(head, rows)


def _arrows(table: Mapping[tuple[str, str], str]) -> list[str]:
    """One arrow for each pair of states, with all that leads from one to the other."""
    arrows: dict[tuple[str, str], list[str]] = {}
    for (state, cause), to in table.items():
        arrows.setdefault((state, to), []).append(str(cause))
    return [
        f"    {_word(state)} --> {_word(to)}: {', '.join(causes)}"
        for (state, to), causes in arrows.items()
    ]


def codes_of(kind: type[Code]) -> Callable[[], str]:
    """The codes that one of the three sides gets, each with its sentence."""

    def made() -> str:
        return _table(("code", "sentence"), [(f"`{code.value}`", sentence(code)) for code in kind])

    return made


def second_sentence() -> str:
    """The sentence that follows where a write may have happened, and after which codes."""
    codes = ", ".join(f"`{code.value}`" for code in AgentCode if code in MAY_HAVE_HAPPENED_CODES)
    quoted = textwrap.fill(MAY_HAVE_HAPPENED, 96, initial_indent="> ", subsequent_indent="> ")
    return f"{quoted}\n\n{textwrap.fill(f'It follows {codes}.', 96)}"


def faults() -> str:
    """Each kind of fault with a line as an agent reads it."""
    rows = []
    for rule in Rule:
        fault = Fault(where="/notes/0", rule=rule, limit=280, expected="string", name="colour")
        rows.append((f"`{rule.value}`", fault.sentence))
    return _table(("rule", "for example"), rows)


def limits() -> str:
    """Every limit with its default and the rule that sets it, read from the source of Limits."""
    rows = []
    rules = ""
    for line in inspect.getsource(Limits).splitlines():
        group = re.fullmatch(r" {4}# ([A-Z]-\d+(?:, [A-Z]-\d+)*): .*", line)
        if group is not None:
            rules = group[1]
        named = re.match(r" {4}(\w+): ", line)
        if named is not None:
            name = named[1]
            rule = RULES.get(name, rules)
            if rule not in rules:
                raise ValueError(f"{name} stands under {rules}, not under {rule}")
            rows.append((f"`{name}`", _amount(name), MEANING[name], rule))
    if [row[0] for row in rows] != [f"`{each.name}`" for each in fields(Limits)]:
        raise ValueError("the source of Limits could not be read")
    return _table(("limit", "default", "what it holds", "rule"), rows)


def event_table() -> str:
    """Every event of the router."""
    completes = {event: effect for effect, event in COMPLETIONS.items()}
    rows = [
        (f"`{kind.__name__}`", _fields(kind), _sentence(kind), _link(completes.get(kind)))
        for kind in get_args(router.Event)
    ]
    return _table(("event", "fields", "what it says", "completes"), rows)


def effect_table() -> str:
    """Every effect of the router."""
    rows = [
        (f"`{kind.__name__}`", _fields(kind), _sentence(kind), _link(COMPLETIONS.get(kind)))
        for kind in get_args(router.Effect)
    ]
    return _table(("effect", "fields", "what to do", "completed by"), rows)


def port_table() -> str:
    """Every message between a page and the host."""
    rows = [
        (f"`{name}`", kind.direction, ", ".join(f"`{key}`" for key in sorted(kind.keys)) or "none")
        for direction in Direction
        for name, kind in PORT.items()
        if kind.direction is direction
    ]
    return _table(("message", "direction", "keys besides `type`"), rows)


MADE: dict[str, dict[str, Callable[[], str]]] = {
    "calls.md": {"request": request_diagram, "ask": ask_diagram},
    "codes.md": {
        "agent": codes_of(AgentCode),
        "page": codes_of(PageCode),
        "person": codes_of(PersonCode),
        "second": second_sentence,
        "faults": faults,
    },
    "limits.md": {"limits": limits},
    "supervision.md": {"pause": pause_diagram, "deferred": deferred_diagram},
    "router.md": {"events": event_table, "effects": effect_table, "port": port_table},
}


# -- words


def _word(state: str) -> str:
    return re.sub(r"\W+", "_", str(state))


def _label(cause: Cause, code: AgentCode | None) -> str:
    return f"{cause} ({code.value})" if code else str(cause)


def _no_code(cause: Cause, to: RequestState) -> str:
    if to is not RequestState.ENDED:
        return ""
    return "the refusal's own code" if cause is Cause.REFUSED else "the answer"


def _amount(name: str) -> str:
    value = getattr(DEFAULT_LIMITS, name)
    text = f"{value:,g}" if isinstance(value, float) else f"{value:,}"
    if name.endswith("_seconds"):
        return f"{text} s"
    if name.endswith("_pixels"):
        return f"{text} pixels"
    if "_bytes" not in name:
        return text
    return f"{text} bytes ({value // MB:,} MB)" if value % MB == 0 else f"{text} bytes"


def _fields(kind: type) -> str:
    return ", ".join(f"`{each.name}`" for each in fields(kind)) or "none"


def _link(kind: type | None) -> str:
    return f"`{kind.__name__}`" if kind else ""


def _sentence(kind: type) -> str:
    """The first paragraph of a docstring, as Markdown."""
    text = " ".join(inspect.getdoc(kind).split("\n\n")[0].split())  # type: ignore[union-attr]
    return re.sub(r":\w+:`[~.\w]*?(\w+)`", r"`\1`", text).replace("``", "`")


def _table(head: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    lines = [tuple(head)]
    lines += [tuple(str(cell).replace("|", "\\|") for cell in row) for row in rows]
    written = [f"| {' | '.join(line)} |".replace("|  |", "| |") for line in lines]
    written.insert(1, "| " + " | ".join("---" for _ in lines[0]) + " |")
    return "\n".join(written)


# -- pages


def renewed(page: str, text: str) -> str:
    """``text`` of the page with its generated parts made anew.

    :raises ValueError: a part that is made for this page has no place in it, or one in it is made
        by nothing.
    """
    wanted = MADE[page]
    marks = re.findall(r"^<!-- made: (\w+) -->$", text, re.MULTILINE)
    if sorted(marks) != sorted(wanted):
        raise ValueError(f"{page} has places for {sorted(marks)}, and {sorted(wanted)} are made")
    for name, make in wanted.items():
        begin, end = f"<!-- made: {name} -->", f"<!-- end: {name} -->"
        before, _, rest = text.partition(begin)
        _, closed, after = rest.partition(end)
        if not closed:
            raise ValueError(f"{page} has no {end}")
        text = f"{before}{begin}\n\n{make()}\n\n{end}{after}"
    return text


def main(argv: list[str] | None = None) -> int:
    """Renew or check all pages; 1 where ``--check`` finds a stale one."""
    parser = argparse.ArgumentParser(description="Make the generated parts of the documentation.")
    parser.add_argument("--check", action="store_true", help="write nothing; fail where stale")
    given = parser.parse_args(argv)
    stale = []
    for page in MADE:
        path = DOCS / page
        before = path.read_text(encoding="utf-8")
        after = renewed(page, before)
        if before != after:
            stale.append(page)
            if not given.check:
                path.write_text(after, encoding="utf-8")
    for page in stale:
        sys.stderr.write(f"docs/{page} {'is stale' if given.check else 'was renewed'}\n")
    return 1 if stale and given.check else 0


if __name__ == "__main__":
    raise SystemExit(main())
