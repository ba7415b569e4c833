"""The commands of ``deska try``: one line in, what the agent gets out (K-6).

A line is ``list``, ``call [PANEL] ACTION [JSON | @FILE]``, ``help`` or ``quit``.
"""

from __future__ import annotations

import json
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deska_host._commands.agent import called
from deska_host._commands.complete import COMMANDS
from deska_host._commands.json_input import Input, hints, read_file, read_input
from deska_host._commands.place import Stop
from deska_host._commands.words import FOR_THE_AUTHOR, SILENT_PAGE
from deska_sdk.errors import AgentCode

if TYPE_CHECKING:
    from deska_host._commands.images import ImageFolder
    from deska_host._commands.terminal import Terminal
    from deska_host.agents import AgentReply
    from deska_host.blocking_sides import BlockingAgent
    from deska_sdk.panels.manifest import Action, Manifest

HELP = """\
list                            the panels that are connected, and their actions
list raw                        the same, as the agent gets it
call [PANEL] ACTION [JSON]      call an action; the input is {} if not said
call [PANEL] ACTION @FILE       the same, with the input from a file
help                            this
quit                            end; so does the end of the input

With one panel its name may be left out. Ctrl-C stops the call that runs."""


class Shell:
    """What a person does as the agent of a task.

    :param panels: the panels that are connected to it.
    """

    def __init__(
        self,
        agent: BlockingAgent,
        panels: dict[str, Manifest],
        images: ImageFolder,
        out: Terminal,
    ) -> None:
        self._agent = agent
        self._panels = panels
        self._images = images
        self._out = out

    def do(self, line: str) -> bool:
        """Do what the line says and write what comes of it; false when it says to end."""
        command, rest = _split(line)
        if command in ("quit", "exit"):
            return False
        try:
            self._do(command, rest)
        except Stop as stop:
            self._out.line(stop.sentence, style="bad")
        return True

    def _do(self, command: str, rest: str) -> None:
        match command:
            case "":
                pass
            case "help" | "?":
                self._out.text(HELP)
            case "list":
                self._list(raw=rest == "raw")
            case "call":
                self._call(rest)
            case _ if self._has(command):
                raise Stop(f"{command} is an action: call {command} [JSON]")
            case _:
                known = ", ".join(COMMANDS)
                raise Stop(f"{command}: there is no such command; there are {known}")

    # --- list

    def _list(self, *, raw: bool) -> None:
        reply = self._agent.list_panels()
        listed = None if raw or reply.is_error else json.loads(reply.text)
        if listed is None:
            self._out.text(reply.text)
            return
        for panel in listed["panels"]:
            self._out.line((panel["panel"], "strong"), f" – {panel['name']}")
            for action in panel["actions"]:
                self._out.line("  ", (action["name"], "place"), f" ({action['kind']})")
                self._out.line(f"      {action['description']}")
                self._out.line("      takes ", (_members(action["input"]), "dim"))
            if "left_out" in panel:
                self._out.line(f"  and {panel['left_out']} more, for which the list had no room")
        if "panels_left_out" in listed:
            left = listed["panels_left_out"]
            self._out.line(f"and {left} more panels, for which the list had no room")

    # --- call

    def _call(self, rest: str) -> None:
        panel, name, text = self._parts(rest)
        given = read_file(Path(text[1:])) if text.startswith("@") else read_input(text)
        reply = None
        with suppress(KeyboardInterrupt):
            reply = called(self._agent, panel, name, given.text)
        if reply is None:
            raise Stop("the call was stopped")
        self._tell(reply, self._action(panel, name), given)

    def _parts(self, rest: str) -> tuple[str, str, str]:
        """The panel, the action and the input in what stands after ``call``."""
        first, behind = _split(rest)
        if not first:
            raise Stop("say what to call: call [PANEL] ACTION [JSON]")
        # No JSON object and no @FILE starts with a letter, and every action does. Words behind an
        # action are an input that is no JSON, which is told as such.
        if behind[:1].isalpha() and (first in self._panels or not self._has(first)):
            second, text = _split(behind)
            return first, second, text or "{}"
        if len(self._panels) > 1:
            raise Stop("several panels are connected, so name one: call PANEL ACTION [JSON]")
        return next(iter(self._panels)), first, behind or "{}"

    def _has(self, name: str) -> bool:
        """Whether any panel has an action of this name."""
        return any(self._action(panel, name) is not None for panel in self._panels)

    def _action(self, panel: str, name: str) -> Action | None:
        connected = self._panels.get(panel)
        actions = connected.actions if connected is not None else ()
        return next((action for action in actions if action.name == name), None)

    def _tell(self, reply: AgentReply, action: Action | None, given: Input) -> None:
        self._out.text(reply.text, style="warn" if reply.is_error else None)
        numbers = count(1)
        self._images.save(
            reply.images,
            lambda saved: self._out.line((f"image:{next(numbers)}", "place"), f" is {saved}"),
        )
        if reply.code is AgentCode.INVALID_INPUT and action is not None:
            self._out.line(FOR_THE_AUTHOR, style="dim")
            for hint in hints(action, given):
                self._out.line(f"  {hint}", style="dim")
        if reply.code is AgentCode.PANEL_TIMEOUT:
            self._out.line(FOR_THE_AUTHOR, style="dim")
            for hint in SILENT_PAGE:
                self._out.line(f"  {hint}", style="dim")


def _split(text: str) -> tuple[str, str]:
    """The first word, and what stands behind it."""
    first, *behind = text.strip().split(None, 1) or [""]
    return first, behind[0] if behind else ""


def _members(schema: dict[str, Any]) -> str:
    """An object's members in one line, such as ``{"text": string, "day"?: one of mon, tue}``."""
    required = schema.get("required", ())
    members = (
        f'"{name}"{"" if name in required else "?"}: {_kind(member)}'
        for name, member in schema.get("properties", {}).items()
    )
    return f"{{{', '.join(members)}}}"


def _kind(schema: dict[str, Any]) -> str:
    match schema:
        case {"type": "object"}:
            return _members(schema)
        case {"type": "array", "items": items, "maxItems": most}:
            return f"[{_kind(items)}, at most {most}]"
        case {"enum": values}:
            return f"one of {', '.join(values)}"
        case {"format": form}:
            return f"string ({form})"
        case {"maxLength": most}:
            return f"string of at most {most}"
        case {"type": kind}:
            bounds = [
                f"{word} {schema[key]}"
                for key, word in (("minimum", "from"), ("maximum", "to"))
                if key in schema
            ]
            return " ".join([kind, *bounds])
        case _:
            raise AssertionError("a schema of the dialect has a type")
