"""A typed panel: its actions, its panel.json, and the page that answers calls (G-2)."""

from __future__ import annotations

import inspect
import json
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeVar, cast

from attrs import AttrsInstance, asdict, field, frozen

from deska_sdk.errors import PageError
from deska_sdk.limits import DEFAULT_LIMITS, Limits
from deska_sdk.panels.answers import WriteAnswer
from deska_sdk.panels.check import check_panel
from deska_sdk.panels.rules import SDK
from deska_sdk.panels.typed.derive import derive
from deska_sdk.panels.typed.errors import PanelDefinitionError, StaleManifest
from deska_sdk.panels.typed.hints import resolve
from deska_sdk.panels.typed.structure import structurer, unstructurer

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Mapping

    from deska_sdk.panels.manifest import Manifest

#: What a page has in its hands, as the handler declares it: most often ``deska_host.Deska``.
DeskaT = TypeVar("DeskaT")
GivenT = TypeVar("GivenT", bound=AttrsInstance)
AnswerT = TypeVar("AnswerT", bound=AttrsInstance)


class PageAgent(Protocol):
    """``deska.agent``, as far as a typed panel uses it."""

    async def respond(self, call_id: str, answer: object, /) -> bool:
        """Answer a call (A-5)."""
        ...


class Page(Protocol):
    """``deska``, as far as a typed panel uses it (G-1)."""

    @property
    def agent(self) -> PageAgent:
        """How calls are answered."""
        ...

    def on(self, event: str, listener: Callable[[dict[str, Any]], object], /) -> None:
        """Call ``listener`` on every ``event``."""
        ...

    async def ready(self) -> object:
        """Say that the page is up."""
        ...


class Write(Protocol):
    """Makes a handler the write it describes, and gives it back as it is."""

    def __call__(
        self, handler: Callable[[DeskaT, GivenT], Coroutine[Any, Any, WriteAnswer]], /
    ) -> Callable[[DeskaT, GivenT], Coroutine[Any, Any, WriteAnswer]]:
        """:raises PanelDefinitionError: panel.json cannot say what the handler says."""
        ...


class Read(Protocol):
    """Makes a handler the read it describes, and gives it back as it is."""

    def __call__(
        self, handler: Callable[[DeskaT, GivenT], Coroutine[Any, Any, AnswerT]], /
    ) -> Callable[[DeskaT, GivenT], Coroutine[Any, Any, AnswerT]]:
        """:raises PanelDefinitionError: panel.json cannot say what the handler says."""
        ...


@frozen
class Nothing:
    """The input of an action that needs none."""


@frozen(kw_only=True, eq=False)
class _Action:
    #: The action as it stands in panel.json.
    declared: dict[str, Any] = field(repr=False)
    handler: Callable[[Any, Any], Coroutine[Any, Any, object]] = field(repr=False)
    structure: Callable[[object], Any] = field(repr=False)
    unstructure: Callable[[object], Any] = field(repr=False)

    @property
    def writes(self) -> bool:
        kind: str = self.declared["kind"]
        return kind == "write"


class Panel:
    """A panel whose actions are functions over attrs classes.

    The parameters are the keys of panel.json (P-2). ``sdk`` is 4, and the permission ``agent`` is
    added to ``permissions``; network, embeds and sign-in have no parameter, since a panel that
    works with agents may not declare them (P-5).

    :raises PanelDefinitionError: one of them breaks its rule.
    """

    def __init__(
        self,
        *,
        id: str,  # noqa: A002 - panel.json's word
        name: str,
        version: str,
        description: str | None = None,
        author: str | None = None,
        license: str | None = None,  # noqa: A002 - panel.json's word
        homepage: str | None = None,
        icon: str | None = None,
        entry: str = "page.py",
        permissions: tuple[str, ...] = (),
        limits: Limits = DEFAULT_LIMITS,
    ) -> None:
        given: dict[str, Any] = {
            "id": id,
            "name": name,
            "version": version,
            "sdk": SDK,
            "description": description,
            "author": author,
            "license": license,
            "homepage": homepage,
            "icon": icon,
            "entry": entry,
            "permissions": list(permissions),
        }
        self._head = {key: value for key, value in given.items() if value is not None}
        self._limits = limits
        self._actions: dict[str, _Action] = {}
        self._check("Panel", _text(self._head))

    def __repr__(self) -> str:
        return f"<Panel {self._head['id']}: {len(self._actions)} actions>"

    # -- actions

    def write(self, description: str, *, name: str | None = None) -> Write:
        """Declare a write: ``async def handler(deska, given: Input) -> WriteAnswer``.

        :param description: what the action does, for the person and the agent (P-4).
        :param name: the action's name, where it is not the function's.
        :raises PanelDefinitionError: there is no description. The handler's own mistakes raise it
            where the handler is defined.
        """
        return cast("Write", self._declarer("write", description, name))

    def read(self, description: str, *, name: str | None = None) -> Read:
        """Declare a read: ``async def handler(deska, given: Input) -> Output``.

        :param description: what the action does, for the person and the agent (P-4).
        :param name: the action's name, where it is not the function's.
        :raises PanelDefinitionError: there is no description. The handler's own mistakes raise it
            where the handler is defined.
        """
        return cast("Read", self._declarer("read", description, name))

    def _declarer(
        self, kind: Literal["read", "write"], description: str, name: str | None
    ) -> Callable[[Any], Any]:
        if type(description) is not str:
            # A bare ``@panel.write`` would otherwise swallow the handler without a word.
            reason = f'an action says what it does: @panel.{kind}("…")'
            raise PanelDefinitionError(f"Panel.{kind}", reason)

        def declare(handler: Callable[..., Any], /) -> Any:
            self._declare(kind, description, name, handler)
            return handler

        return declare

    def _declare(
        self,
        kind: Literal["read", "write"],
        description: str,
        name: str | None,
        handler: Callable[..., Any],
    ) -> None:
        place = getattr(handler, "__name__", "the action") if name is None else name
        # Other decorators may stand between; the names are those of the function's own module.
        page: Mapping[str, Any] = getattr(inspect.unwrap(handler), "__globals__", {})
        given, answered = _annotations(handler, page, place)
        shape = derive(given, "input", page=page, place=place, limits=self._limits)
        declared: dict[str, Any] = {
            "name": place,
            "description": description,
            "kind": kind,
            "input": shape.schema,
        }
        if kind == "read":
            if answered is WriteAnswer:
                reason = "a read answers with a class of its own, and WriteAnswer is for writes"
                raise PanelDefinitionError(place, reason)
            output = derive(answered, "output", page=page, place=place, limits=self._limits)
            declared["output"] = output.schema
            unstructure = unstructurer(output)
        elif answered is WriteAnswer:
            unstructure = _plain_write_answer
        else:
            # W-1: no text of the page passes through a write.
            raise PanelDefinitionError(place, "a write has no output: it answers WriteAnswer")
        action = _Action(
            declared=declared,
            handler=handler,
            structure=structurer(shape),
            unstructure=unstructure,
        )
        # Checked with the actions before it, so that what is wrong is wrong with this one.
        others = [*self._actions.values()]
        self._check(place, self._manifest_text([*others, action]))
        self._actions[place] = action

    # -- panel.json

    def manifest_text(self) -> str:
        """The panel.json of this panel: the same text byte for byte from the same definition.

        Keys stand in one fixed order and actions in the order of their definition; it is indented
        by two spaces, ends with a line feed, and is to be written as UTF-8.

        :raises PanelDefinitionError: the panel has no action.
        """
        if not self._actions:
            raise PanelDefinitionError("Panel", "a typed panel has at least one action")
        return self._manifest_text([*self._actions.values()])

    def manifest(self) -> Manifest:
        """The same, checked, as a value.

        :raises PanelDefinitionError: the panel has no action.
        """
        manifest = check_panel(self.manifest_text(), limits=self._limits).manifest
        assert manifest is not None, "every definition was checked"
        return manifest

    def _manifest_text(self, actions: list[_Action]) -> str:
        permissions = ["agent", *self._head["permissions"]]
        agent = {"actions": [action.declared for action in actions]}
        return _text({**self._head, "permissions": permissions, "agent": agent})

    def _check(self, place: str, text: str) -> None:
        """P-1…P-5, by the checker of every panel.json."""
        problems = check_panel(text, limits=self._limits).problems
        if problems:
            key = problems[0].where.split("/")[-1]
            where = f"{place}.{key}" if key.isidentifier() else place
            raise PanelDefinitionError(where, problems[0].sentence)

    # -- the page

    async def main(self, deska: Page) -> None:
        """The page itself: ``main = panel.main`` in the module that is panel.json's ``entry``."""
        # Listen before ready: a task that is connected already may call as soon as the page is up.
        self.listen(deska)
        await deska.ready()

    def listen(self, deska: Page) -> None:
        """Answer calls from now on, for a page with a ``main`` of its own.

        A handler that raises: a write answers ``failed``, a read is not answered and ends at its
        deadline; either way the error goes on to the host's ``on_page_error``. So does the error
        of a class that refuses its values, where a write answers ``invalid`` and its handler is
        not called.
        """

        async def hear(call: dict[str, Any]) -> None:
            await self._answer(deska, call["callId"], call["action"], call["input"])

        deska.on("agent.action", hear)

    async def _answer(self, deska: Page, call_id: str, name: str, value: object) -> None:
        action = self._actions.get(name)
        if action is None:
            raise StaleManifest
        try:
            given = action.structure(value)
        except StaleManifest:
            await _refuse(deska, call_id, action, "failed")
            raise
        except Exception:
            await _refuse(deska, call_id, action, "invalid")
            raise
        try:
            answer = await action.handler(deska, given)
        except Exception:
            await _refuse(deska, call_id, action, "failed")
            raise
        await deska.agent.respond(call_id, action.unstructure(answer))


async def _refuse(deska: Page, call_id: str, action: _Action, error: str) -> None:
    """Answer a write that could not be done. For a read there is no such answer (N-1)."""
    if action.writes:
        # The call may be over; what went wrong first is what its author has to hear.
        with suppress(PageError):
            await deska.agent.respond(call_id, {"ok": False, "error": error})


def _plain_write_answer(answer: object) -> object:
    if type(answer) is not WriteAnswer:
        return answer
    return asdict(answer, filter=lambda _, value: value is not None)


def _annotations(
    handler: Callable[..., Any], page: Mapping[str, Any], place: str
) -> tuple[Any, Any]:
    """The annotations of what a handler is given and of what it answers, evaluated."""
    if not inspect.iscoroutinefunction(handler):
        raise PanelDefinitionError(place, "an action is an async function")
    signature = inspect.signature(handler)
    parameters = [*signature.parameters.values()]
    if len(parameters) != 2 or any(
        one.kind not in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD) for one in parameters
    ):
        raise PanelDefinitionError(place, "an action has two parameters: deska and its input")
    given, answered = parameters[1].annotation, signature.return_annotation
    if given is signature.empty or answered is signature.empty:
        reason = "an action says the class of its input, and the class of its answer"
        raise PanelDefinitionError(place, reason)
    return resolve(given, page, place), resolve(answered, page, place)


def _text(value: dict[str, Any]) -> str:
    if not value["permissions"]:
        value = {key: one for key, one in value.items() if key != "permissions"}
    return json.dumps(value, ensure_ascii=False, indent=2) + "\n"
