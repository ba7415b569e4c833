"""What an agent is told when a call is refused: a code, its fixed sentence, and faults (A-9)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deska_sdk.errors import MAY_HAVE_HAPPENED, AgentCode, InvalidValue, sentence

if TYPE_CHECKING:
    from deska_sdk.limits import Limits


def refusal_text(
    code: AgentCode,
    limits: Limits,
    *,
    invalid: InvalidValue | None = None,
    may_have_happened: bool = False,
) -> str:
    """The text of a refusal; never a word of a page, of an exception or of a value."""
    text = f"{code.value}: {sentence(code, limits)}"
    if may_have_happened:
        text = f"{text} {MAY_HAVE_HAPPENED}"
    if invalid is not None:
        lines = [f"- {fault.sentence}" for fault in invalid.faults]
        if invalid.more:
            lines.append("- and more")
        text = "\n".join((text, *lines))
    return text
