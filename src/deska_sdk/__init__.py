"""The engine of Deska: the boundary between what a program shows to people and their agents.

Values in, values out: no I/O, no clock, no thread of its own. ``deska_host`` is a host that feeds
it in one process; :mod:`deska_sdk.router` is for programs that bring their own.
"""

from deska_sdk import fence, images, revisions, router, schema
from deska_sdk.errors import (
    AgentCode,
    DeskaError,
    InvalidValue,
    PackageError,
    PageCode,
    PageError,
    PersonCode,
    Refused,
    TooLarge,
)
from deska_sdk.limits import DEFAULT_LIMITS, Limits
from deska_sdk.panels.check import Report, check_panel
from deska_sdk.panels.consent import Sheet
from deska_sdk.panels.manifest import Action, Manifest
from deska_sdk.problems import Fault, Problem, Rule
from deska_sdk.schema import Checker, compile_schema
from deska_sdk.text import fold, strip_invisible

__all__ = [
    "DEFAULT_LIMITS",
    "Action",
    "AgentCode",
    "Checker",
    "DeskaError",
    "Fault",
    "InvalidValue",
    "Limits",
    "Manifest",
    "PackageError",
    "PageCode",
    "PageError",
    "PersonCode",
    "Problem",
    "Refused",
    "Report",
    "Rule",
    "Sheet",
    "TooLarge",
    "check_panel",
    "compile_schema",
    "fence",
    "fold",
    "images",
    "revisions",
    "router",
    "schema",
    "strip_invisible",
]
