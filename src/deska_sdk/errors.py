"""The errors of Deska and the fixed sentence of every code.

A sentence is all that an agent, a page or a person is ever told about a refusal: it comes from
the table below and never holds a word of a page, of an exception or of a value (A-9).
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from attrs import asdict

from deska_sdk._words import Word
from deska_sdk.limits import DEFAULT_LIMITS, Limits

if TYPE_CHECKING:
    from deska_sdk.problems import Fault, Problem


class AgentCode(Word):
    """Why an agent's call was refused (A-9)."""

    TURNED_OFF = "turned_off"
    NOT_CONNECTED = "not_connected"
    CONSENT_CHANGED = "consent_changed"
    UNKNOWN_ACTION = "unknown_action"
    PANEL_NOT_RUNNING = "panel_not_running"
    PANEL_BUSY = "panel_busy"
    INVALID_INPUT = "invalid_input"
    TOO_MANY_IMAGES = "too_many_images"
    IMAGE_NOT_FOUND = "image_not_found"
    IMAGE_OUTSIDE_FOLDER = "image_outside_folder"
    IMAGE_UNSUPPORTED = "image_unsupported"
    IMAGE_TOO_LARGE = "image_too_large"
    IMAGE_TIMEOUT = "image_timeout"
    PANEL_TIMEOUT = "panel_timeout"
    PANEL_CLOSED = "panel_closed"
    ANSWER_TOO_LARGE = "answer_too_large"
    STOPPED = "stopped"
    PAUSE_FAILED = "pause_failed"
    PREVIEW_PAUSED = "preview_paused"
    SUBAGENT_PAUSED = "subagent_paused"
    #: No refusal: the answer comes as a message of its own (S-7).
    READ_DEFERRED = "read_deferred"


class PageCode(Word):
    """Why something a page asked for was refused (A-5, G-1, G-3)."""

    INVALID_ARGS = "invalid_args"
    UNKNOWN_CALL = "unknown_call"
    QUOTA_EXCEEDED = "quota_exceeded"
    UNSUPPORTED = "unsupported"


class PersonCode(Word):
    """Why something the person, or the program for them, asked for was refused (C-3, P-6)."""

    ASSISTANT_TASK = "assistant_task"
    TERMINAL_TASK = "terminal_task"
    REMOTE_TASK = "remote_task"
    UNSUPERVISED_TASK = "unsupervised_task"
    LEDGER_REFUSED = "ledger_refused"
    CONSENT_NEEDED = "consent_needed"
    UNKNOWN_PANEL = "unknown_panel"
    UNKNOWN_TASK = "unknown_task"
    NO_ACTIONS = "no_actions"
    UNKNOWN_MODE = "unknown_mode"
    SWITCH_FAILED = "switch_failed"
    NOT_CONFIRMED = "not_confirmed"
    UNKNOWN_REQUEST = "unknown_request"
    UNKNOWN_MESSAGE = "unknown_message"
    PANEL_MESSAGE = "panel_message"
    NO_TURN = "no_turn"
    NO_OFFER = "no_offer"
    OFFER_TOO_LARGE = "offer_too_large"


Code = AgentCode | PageCode | PersonCode

SENTENCES: dict[Code, str] = {
    AgentCode.TURNED_OFF: (
        "Panel actions are turned off on this computer. Only the person can turn them on."
    ),
    AgentCode.NOT_CONNECTED: (
        "No panel with this id is connected to this task. Only the person can connect one; "
        "list_panels shows the panels that are connected."
    ),
    AgentCode.CONSENT_CHANGED: (
        "This panel's actions have changed since the person agreed to them. "
        "They cannot be called until the person has looked at them again."
    ),
    AgentCode.UNKNOWN_ACTION: (
        "This panel has no action with this name. list_panels shows the actions it has."
    ),
    AgentCode.PANEL_NOT_RUNNING: (
        "This panel is not open on the person's desk right now, so nothing was called."
    ),
    AgentCode.PANEL_BUSY: (
        "This panel has too many open calls. Wait for some of them to end, then try again."
    ),
    AgentCode.INVALID_INPUT: (
        "The input does not fit this action's input schema, so the panel was not called."
    ),
    AgentCode.TOO_MANY_IMAGES: (
        "One call may carry at most {images} images, so the panel was not called. "
        "Send fewer in each call."
    ),
    AgentCode.IMAGE_NOT_FOUND: (
        "There is no image at one of the paths in this call, so the panel was not called. "
        "A path is relative to the task's folder."
    ),
    AgentCode.IMAGE_OUTSIDE_FOLDER: (
        "A path in this call leads out of the task's folder, so nothing was read and the panel "
        "was not called. Only images inside the task's folder can be handed to a panel."
    ),
    AgentCode.IMAGE_UNSUPPORTED: (
        "A path in this call is not a PNG, JPEG or WebP image that can be read, "
        "so the panel was not called."
    ),
    AgentCode.IMAGE_TOO_LARGE: (
        "An image in this call is larger than {image_bytes} bytes or {image_pixels} pixels, "
        "so the panel was not called. Send a smaller one."
    ),
    AgentCode.IMAGE_TIMEOUT: (
        "The images of this call took too long to read, so the panel was not called."
    ),
    AgentCode.PANEL_TIMEOUT: ("The panel did not answer within {waiting_seconds:g} seconds."),
    AgentCode.PANEL_CLOSED: "The panel was closed or reloaded before it answered.",
    AgentCode.ANSWER_TOO_LARGE: (
        "The panel's answer was larger than the {answer} characters allowed, so nothing of it is "
        "here. Ask for less."
    ),
    AgentCode.STOPPED: "The call was stopped before it ended, so nothing of it is here.",
    AgentCode.PAUSE_FAILED: (
        "This task could not be put into Supervised, so nothing of the panel's answer is here."
    ),
    AgentCode.PREVIEW_PAUSED: (
        "A panel's content is in this turn, so the preview tools wait until it ends. "
        "Wait for the person."
    ),
    AgentCode.SUBAGENT_PAUSED: (
        "A panel's content is in this turn, so no subagent is launched until it ends."
    ),
    AgentCode.READ_DEFERRED: (
        "This agent can only be put into Supervised from its next turn on. The panel was asked, "
        "and its answer will come as a message of its own after this turn."
    ),
    PageCode.INVALID_ARGS: "What the page passed does not fit the rules of this function.",
    PageCode.UNKNOWN_CALL: "This call is over, or was never made to this page.",
    PageCode.QUOTA_EXCEEDED: "This is more than a panel may keep on this computer.",
    PageCode.UNSUPPORTED: "This host does not offer this function.",
    PersonCode.ASSISTANT_TASK: "The desk's own assistant cannot be connected to a panel.",
    PersonCode.TERMINAL_TASK: "An agent in a terminal cannot be connected to a panel.",
    PersonCode.REMOTE_TASK: "A task on another computer cannot be connected to a panel.",
    PersonCode.UNSUPERVISED_TASK: (
        "Only a task that this host supervises can be connected to a panel."
    ),
    PersonCode.LEDGER_REFUSED: (
        "A version of this panel has worked with agents on this computer, so no version of it may "
        "reach the network, show other sites, sign people in or open links. "
        "Publish it under a new id to do so."
    ),
    PersonCode.CONSENT_NEEDED: (
        "The person has not agreed to what this panel's sheet says now. Show the sheet first."
    ),
    PersonCode.UNKNOWN_PANEL: "No panel with this id is installed.",
    PersonCode.UNKNOWN_TASK: "No task with this id is attached to this host.",
    PersonCode.NO_ACTIONS: "This panel declares no actions, so there is nothing to connect.",
    PersonCode.UNKNOWN_MODE: "This task has no such mode.",
    PersonCode.SWITCH_FAILED: "The task's agent did not change its mode.",
    PersonCode.NOT_CONFIRMED: "The person did not confirm this.",
    PersonCode.UNKNOWN_REQUEST: "This request is over, or was never made.",
    PersonCode.UNKNOWN_MESSAGE: "No message with this id is waiting for this task.",
    PersonCode.PANEL_MESSAGE: (
        "A panel's message waits for its own turn as it is. It can only be removed."
    ),
    PersonCode.NO_TURN: "No turn of this task is running.",
    PersonCode.NO_OFFER: "The panel no longer offers what the button showed.",
    PersonCode.OFFER_TOO_LARGE: (
        "What the panel offers is larger than the {answer} characters allowed."
    ),
}

#: Said after the first sentence where a write had already reached the page (A-9).
MAY_HAVE_HAPPENED = (
    "The panel had already been asked, so the change may have happened. "
    "Read the panel before you try again."
)


def sentence(code: Code, limits: Limits = DEFAULT_LIMITS) -> str:
    """The fixed sentence of ``code``; a size or a time in it is the one ``limits`` sets (A-9)."""
    return SENTENCES[code].format_map(_numbers(limits))


@lru_cache(maxsize=16)
def _numbers(limits: Limits) -> dict[str, float]:
    return asdict(limits)


class DeskaError(Exception):
    """The root of every error Deska raises on purpose."""


class PackageError(DeskaError):
    """A package breaks its rules. ``problems`` holds all of them, in document order (P-7)."""

    def __init__(self, problems: tuple[Problem, ...]) -> None:
        self.problems = problems
        count = len(problems)
        super().__init__(f"the package has {count} problem{'' if count == 1 else 's'}")


class InvalidValue(DeskaError):
    """A value does not fit its schema. ``faults`` says where and why, never the value (D-7).

    ``more`` is true when the search stopped before the end of the value.
    """

    def __init__(self, faults: tuple[Fault, ...], *, more: bool = False) -> None:
        self.faults = faults
        self.more = more
        places = ", ".join(f"{fault.rule} at {fault.where or 'the root'}" for fault in faults)
        super().__init__(f"{places}{', and more' if more else ''}")


class TooLarge(DeskaError):
    """A text is over the limit that holds for it (N-4). ``limit`` is the size allowed."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        super().__init__(f"more than the {limit} characters allowed")


class Refused(DeskaError):
    """A call or a wish was refused. ``code`` says why; the text is the code's fixed sentence."""

    def __init__(self, code: AgentCode | PersonCode) -> None:
        self.code = code
        super().__init__(f"{code.value}: {sentence(code)}")


class PageError(DeskaError):
    """A page asked for something it may not have. ``code`` is one of the page's codes (G-1)."""

    def __init__(self, code: PageCode) -> None:
        self.code = code
        super().__init__(f"{code.value}: {sentence(code)}")
