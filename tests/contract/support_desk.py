"""A router with one connected panel, and a host that answers at once: for the limits."""

from deska_sdk import check_panel, router
from deska_sdk.limits import Limits
from deska_sdk.panels.consent import fingerprint

TEXT = {"type": "string", "maxLength": 100_000}


def action(name="act", kind="write", input_schema=None, output=None, description="Acts."):
    made = {
        "name": name,
        "description": description,
        "kind": kind,
        "input": input_schema or {"type": "object", "properties": {"text": TEXT}},
    }
    if kind == "read":
        made["output"] = output or {"type": "object", "properties": {"text": TEXT}}
    return made


def panel(*actions, **changed):
    return {
        "id": "nook",
        "name": "Nook",
        "version": "1.0.0",
        "sdk": 4,
        "permissions": ["agent"],
        "agent": {"actions": list(actions) or [action()]},
    } | changed


class Desk:
    """Steps the router and does what is done at once; the rest waits in ``started``."""

    def __init__(self, limits: Limits, *actions):
        self.router = router.Router(limits=limits)
        self.now = 0.0
        self.told = []
        self.started = []
        self.calls = 0
        self.commits = True
        manifest = check_panel(panel(*actions)).manifest
        mark = fingerprint(manifest)
        self.feed(router.TaskAttached("t"))
        self.feed(router.TurnStarted("t", "1"))
        self.feed(router.InstallAsked("a", manifest))
        self.feed(router.ConnectAsked("b", "t", "nook", mark))
        self.feed(router.PageStarted("p", "nook"))
        self.told.clear()

    def feed(self, event):
        for effect in self.router.step(event, self.now):
            if isinstance(effect, router.Persist) and self.commits:
                self.feed(router.Committed(effect.op))
            elif isinstance(
                effect, (router.ReadImage, router.EncodeImage, router.SwitchMode, router.Persist)
            ):
                self.started.append(effect)
            else:
                self.told.append(effect)

    def call(self, payload=None, name="act"):
        """Call the action; the number of the call."""
        self.calls += 1
        number = str(self.calls)
        event = router.CallRequested(number, f"c{number}", "t", "1", "nook", name, payload or {})
        self.feed(event)
        return number

    def respond(self, number, answer):
        self.feed(router.Responded("p", int(number), f"c{number}", answer))

    def code(self, number):
        """The code of the reply; ``"open"`` where there is none yet, ``None`` where it is good."""
        for effect in self.told:
            if isinstance(effect, router.Reply) and effect.request == number:
                return effect.code
        return "open"

    def refused(self, number):
        """The page's code for its answer; ``None`` where it was taken."""
        for effect in self.told:
            if isinstance(effect, router.SettleRespond) and effect.respond_id == int(number):
                return effect.code
        raise AssertionError("the answer was not settled")
