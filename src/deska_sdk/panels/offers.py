"""*Send to task*: a page offers, and only the person sends (O-1 to O-3)."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from attrs import define, field, frozen

from deska_sdk.errors import PageCode, PersonCode, TooLarge
from deska_sdk.panels.answers import fenced_offer
from deska_sdk.panels.effects import FindFiles, OfferButton, SettleOffer
from deska_sdk.panels.encoding import Encoding
from deska_sdk.steps import Done
from deska_sdk.tasks.events import Switches
from deska_sdk.tasks.queue import Message, Sender
from deska_sdk.text import strip_invisible

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deska_sdk.panels.desk import Connection, Desk, Page, Panel
    from deska_sdk.panels.encoding import Encoder
    from deska_sdk.panels.events import FilesFound, Offered, SendPressed
    from deska_sdk.steps import Steps
    from deska_sdk.tasks.tasks import Tasks


@frozen
class Offer:
    """What the button shows: a snapshot, stripped already."""

    version: int
    text: str = field(repr=False)
    file_ids: tuple[str, ...] = field(repr=False)


@define(eq=False)
class Pressed:
    """An offer that the person sent and whose images are not done yet."""

    event: SendPressed
    connection: Connection
    offer: Offer
    encoding: Encoding | None = None


class Offers:
    """What the pages on the desk offer now."""

    def __init__(self, desk: Desk, tasks: Tasks, steps: Steps, encoder: Encoder) -> None:
        self._desk = desk
        self._tasks = tasks
        self._steps = steps
        self._encoder = encoder
        self._last_version = 0
        self._offers: dict[str, Offer] = {}
        # The newest offer of each panel that was made, standing or not.
        self._newest: dict[str, int] = {}
        self._shown: dict[str, int] = {}
        self._looking = 0
        self._pressed: list[Pressed] = []

    def __len__(self) -> int:
        return self._looking + len(self._pressed)

    # --- the page

    def offer(self, event: Offered) -> None:
        """Take an offer, or say why not; the earlier one stands then (O-1)."""
        page = self._desk.pages.get(event.instance)
        if page is None or page.kind != "desk":
            self._settle(event, PageCode.UNSUPPORTED)
            return
        offer = self._read(event)
        if offer is None:
            self._settle(event, PageCode.INVALID_ARGS)
        elif offer.file_ids:
            op = self._steps.start(lambda found, _: self._found(event, page, offer, found))
            self._looking += 1
            self._steps.emit(FindFiles(op, page.panel.manifest.id, offer.file_ids))
        else:
            self._take(event, page, offer)

    def _read(self, event: Offered) -> Offer | None:
        limits = self._steps.limits
        text = "" if event.text is None else event.text
        files: object = () if event.files is None else event.files
        if (
            type(text) is not str
            or len(text) > limits.offer_text
            or type(files) not in (list, tuple)
        ):
            return None
        ids = cast("Sequence[object]", files)
        if not all(type(one) is str and one for one in ids):
            return None
        distinct = tuple(dict.fromkeys(cast("Sequence[str]", ids)))
        if len(distinct) > limits.offer_images:
            return None
        self._last_version += 1
        stripped = strip_invisible(text)
        return Offer(self._last_version, stripped if stripped.strip() else "", distinct)

    def _found(self, event: Offered, page: Page, offer: Offer, found: FilesFound) -> None:
        self._looking -= 1
        if found.ok:
            self._take(event, page, offer)
        else:
            self._settle(event, PageCode.INVALID_ARGS)

    def _take(self, event: Offered, page: Page, offer: Offer) -> None:
        self._settle(event, None)
        panel = page.panel.manifest.id
        # A newer offer that needed no looking may be there before this one.
        if offer.version < self._newest.get(panel, 0) or page.instance not in self._desk.pages:
            return
        self._newest[panel] = offer.version
        if offer.text or offer.file_ids:
            self._offers[panel] = offer
        else:
            self._offers.pop(panel, None)
        self.refresh(page.panel)

    def _settle(self, event: Offered, code: PageCode | None) -> None:
        self._steps.emit(SettleOffer(event.instance, event.offer_id, code))

    def close_page(self, page: Page) -> None:
        """What a page showed is gone with it, and so is its offer."""
        if page.kind == "desk" and self._offers.pop(page.panel.manifest.id, None) is not None:
            self.refresh(page.panel)

    def refresh(self, panel: Panel) -> None:
        """Light the button or put it out, where that changes (O-2)."""
        name = panel.manifest.id
        offer, page = self._offers.get(name), panel.desk_page
        on = offer is not None and page is not None and self._desk.tasks_for(page) > 0
        shown = offer.version if on and offer is not None else None
        if shown != self._shown.get(name):
            if shown is None:
                del self._shown[name]
            else:
                self._shown[name] = shown
            self._steps.emit(OfferButton(name, shown))

    # --- the person

    def press(self, event: SendPressed, now: float) -> None:
        """Send what the button showed (O-3)."""
        offer = self._offers.get(event.panel)
        if offer is None or self._shown.get(event.panel) != event.version:
            self._steps.emit(Done(event.ask, PersonCode.NO_OFFER))
            return
        connection = self._connection(event)
        task = None if connection is None else self._tasks.get(connection.task)
        if connection is None or task is None:
            self._steps.emit(Done(event.ask, PersonCode.UNKNOWN_TASK))
            return
        if task.attached.switches is Switches.NEVER:
            self._steps.emit(Done(event.ask, PersonCode.SWITCH_FAILED))
            return
        pressed = Pressed(event, connection, offer)

        def done(when: float, _late: bool) -> None:
            self._send(pressed, when)

        pressed.encoding = Encoding(event.panel, offer.file_ids, done)
        self._pressed.append(pressed)
        self._encoder.start(pressed.encoding, now)

    def _connection(self, event: SendPressed) -> Connection | None:
        if event.task is not None:
            connection = self._desk.connection(event.task, event.panel)
            usable = connection is not None and self._desk.takes_part(event.task)
            return connection if usable else None
        panel = self._desk.panels[event.panel]
        several = [one for one in panel.connections.values() if self._desk.takes_part(one.task)]
        # O-2: with several connected the person picks one.
        return several[0] if len(several) == 1 else None

    def _send(self, pressed: Pressed, now: float) -> None:
        assert pressed.encoding is not None, "its images are done"
        event, offer = pressed.event, pressed.offer
        manifest = pressed.connection.panel.manifest
        try:
            text = fenced_offer(
                manifest.id,
                manifest.name,
                offer.text,
                offer.file_ids,
                pressed.encoding.numbers,
                self._steps.limits,
            )
        except TooLarge:
            self._drop(pressed, PersonCode.OFFER_TOO_LARGE)
            return
        self._pressed.remove(pressed)
        message = Message(
            event.message,
            text,
            Sender.PANEL,
            pressed.encoding.take(),
            manifest.id,
            manifest.folded_name,
        )
        self._steps.emit(Done(event.ask))
        self._tasks.send(pressed.connection.task, message, now)

    def drop_connection(self, connection: Connection) -> None:
        """The connection is over: what was pressed and is not in the queue is not sent."""
        for pressed in tuple(self._pressed):
            if pressed.connection is connection:
                self._drop(pressed, PersonCode.NO_OFFER)

    def drop_task(self, task: str) -> None:
        """The task left."""
        for pressed in tuple(self._pressed):
            if pressed.connection.task == task:
                self._drop(pressed, PersonCode.UNKNOWN_TASK)

    def _drop(self, pressed: Pressed, code: PersonCode) -> None:
        self._pressed.remove(pressed)
        if pressed.encoding is not None:
            self._encoder.stop(pressed.encoding)
        self._steps.emit(Done(pressed.event.ask, code))
