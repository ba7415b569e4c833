"""The rules of panel.json, but for its actions (P-2, P-3, P-5)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from deska_sdk.panels import formats
from deska_sdk.panels.action_rules import check_agent
from deska_sdk.panels.findings import Findings, as_array, as_object
from deska_sdk.panels.text_rules import (
    a_text,
    check_folded,
    check_length,
    unknown_key,
    warn_invisible,
)
from deska_sdk.problems import pointer
from deska_sdk.schema.raw import shown

PERMISSIONS: Final = ("agent", "account", "open-url", "clipboard-write", "notify")
#: The newest ``sdk``, and the one that actions need (P-2, P-3).
SDK: Final = 4
REQUIRED: Final = ("id", "name", "version", "sdk")
DEFAULT_ENTRY: Final = "index.html"

#: The five ways out of the computer that a panel with actions may not declare (P-5).
REACHES: Final = ("network", "embeds", "signedInEmbeds", "account", "open-url")
_LISTS: Final = ("network", "embeds", "signedInEmbeds")
_WAYS_OUT: Final = {
    "network": "reach network hosts",
    "embeds": "embed other sites",
    "signedInEmbeds": "embed other sites signed in",
    "account": "sign people in (the permission account)",
    "open-url": "open links (the permission open-url)",
}


def check_manifest(value: object, found: Findings) -> None:
    """Check everything about one manifest that stands in the manifest itself (P-2…P-5)."""
    manifest = as_object(value)
    if manifest is None:
        found.problem("wrong_type", "", "panel.json is one object", shown(value))
        return
    for key, member in manifest.items():
        where = pointer("", key)
        rule = _RULES.get(key)
        if rule is not None:
            rule(found, member, where)
        elif key != "agent":
            unknown_key(found, key, where, KEYS)
    for key in REQUIRED:
        if key not in manifest:
            found.problem("missing_key", "", f'"{key}" is missing here', key)
    _check_agent(manifest, found)


def declares_agent(value: object) -> bool:
    """Whether a manifest, right or wrong, says that it works with agents (P-7)."""
    manifest = as_object(value) or {}
    return "agent" in manifest or "agent" in (as_array(manifest.get("permissions")) or [])


def ways_out(value: object) -> tuple[tuple[str, str], ...]:
    """Which of the five a manifest declares, each with its JSON Pointer (P-5, P-6)."""
    manifest = as_object(value) or {}
    out = [(key, pointer("", key)) for key in _LISTS if as_array(manifest.get(key))]
    permissions = as_array(manifest.get("permissions")) or []
    out += [
        (name, f"/permissions/{permissions.index(name)}")
        for name in ("account", "open-url")
        if name in permissions
    ]
    return tuple(out)


def way_out_sentence(name: str, *, ever: bool) -> str:
    """Why one of the five is refused: now (P-5), or because of an earlier version (P-6)."""
    if ever:
        return (
            f"an earlier version of this panel worked with agents, so no version of it may "
            f"{_WAYS_OUT[name]}; a panel that does needs a new id"
        )
    return f'a panel that declares "agent" may not {_WAYS_OUT[name]}'


def check_lineage(value: object, found: Findings) -> None:
    """P-6 for a panel of which an earlier version declared ``agent``.

    Where this version declares it too, P-5 has told the same already.
    """
    if not declares_agent(value):
        for name, where in ways_out(value):
            sentence = way_out_sentence(name, ever=True)
            found.problem("ledger_refused", where, sentence, name, key=name in _LISTS)


def _check_agent(manifest: dict[str, object], found: Findings) -> None:
    """P-3 and P-5: what the object, the permission and the rest of the file ask of each other."""
    permissions = as_array(manifest.get("permissions")) or []
    if "agent" in manifest:
        check_agent(found, manifest["agent"], "/agent")
        if "agent" not in permissions:
            sentence = '"agent" needs the permission "agent" in "permissions"'
            found.problem("permission_missing", "/agent", sentence, "agent", key=True)
        sdk = manifest.get("sdk")
        if type(sdk) is int and 1 <= sdk < SDK:
            found.problem("sdk_too_old", "/sdk", f'actions need "sdk": {SDK}', str(sdk))
    elif "agent" in permissions:
        where = f"/permissions/{permissions.index('agent')}"
        sentence = 'the permission "agent" needs the key "agent" with its actions'
        found.problem("agent_missing", where, sentence, "agent")
    if declares_agent(manifest):
        for name, where in ways_out(manifest):
            sentence = way_out_sentence(name, ever=False)
            found.problem("not_with_agent", where, sentence, name, key=name in _LISTS)


# -- one rule for each key


def _shaped(pattern: str, code: str, sentence: str) -> _Rule:
    """A rule for a text of one shape."""

    def rule(found: Findings, value: object, where: str) -> None:
        text = a_text(found, value, where)
        if text is not None and not formats.fits(pattern, text):
            found.problem(code, where, sentence, text)

    return rule


def _id(found: Findings, value: object, where: str) -> None:
    text = a_text(found, value, where)
    if text is None:
        return
    if not formats.fits(formats.ID, text):
        sentence = (
            "an id starts with a lower-case letter and is made of lower-case letters, digits and "
            "single hyphens between them"
        )
        found.problem("bad_id", where, sentence, text)
    else:
        check_length(found, text, where, found.limits.panel_id)


def _name(found: Findings, value: object, where: str) -> None:
    text = a_text(found, value, where)
    if text is not None:
        check_folded(found, text, where, found.limits.panel_name)


def _description(found: Findings, value: object, where: str) -> None:
    text = a_text(found, value, where)
    if text is not None:
        check_length(found, text, where, found.limits.panel_description)
        warn_invisible(found, text, where)


def _byline(found: Findings, value: object, where: str) -> None:
    text = a_text(found, value, where)
    if text is not None:
        check_length(found, text, where, found.limits.author, least=1)


def _sdk(found: Findings, value: object, where: str) -> None:
    # Exact JSON integers: true and 4.0 are none.
    if type(value) is not int or not 1 <= value <= SDK:
        found.problem("bad_sdk", where, f"sdk is an integer from 1 to {SDK}", shown(value))


def _path(found: Findings, value: object, where: str) -> None:
    text = a_text(found, value, where)
    if text is not None and not formats.is_path(text):
        sentence = (
            'this is a relative path inside the package, like "pages/index.html", '
            'without a leading slash, "..", back-slash, colon or invisible character'
        )
        found.problem("bad_path", where, sentence, text)


def _ignored(found: Findings, value: object, where: str) -> None:
    a_text(found, value, where)


def _list_of(pattern: str, code: str, sentence: str) -> _Rule:
    one = _shaped(pattern, code, sentence)

    def rule(found: Findings, value: object, where: str) -> None:
        items = as_array(value)
        if items is None:
            found.problem("wrong_type", where, "this is an array of strings", shown(value))
            return
        for index, item in enumerate(items):
            one(found, item, pointer(where, index))

    return rule


def _permissions(found: Findings, value: object, where: str) -> None:
    items = as_array(value)
    if items is None:
        found.problem("wrong_type", where, "this is an array of strings", shown(value))
        return
    seen: set[str] = set()
    for index, item in enumerate(items):
        text = a_text(found, item, pointer(where, index))
        if text is None:
            continue
        if text not in PERMISSIONS:
            sentence = f"a permission is one of {', '.join(PERMISSIONS)}"
            found.problem("unknown_permission", pointer(where, index), sentence, text)
        elif text in seen:
            sentence = "this permission stands here twice"
            found.problem("duplicate", pointer(where, index), sentence, text)
        seen.add(text)


_Rule = Callable[[Findings, object, str], None]

_ORIGIN_SENTENCE = 'this is an https origin, like "https://example.com", without a path'
_RULES: Final[dict[str, _Rule]] = {
    "id": _id,
    "name": _name,
    "version": _shaped(
        formats.VERSION, "bad_version", 'a version is a semantic version, like "1.0.0"'
    ),
    "sdk": _sdk,
    "description": _description,
    "author": _byline,
    "license": _byline,
    "homepage": _shaped(
        formats.HTTPS_URL, "bad_url", 'this is an https address, like "https://example.com/"'
    ),
    "icon": _path,
    "entry": _path,
    "permissions": _permissions,
    "network": _list_of(
        formats.HOST, "bad_host", 'this is a host name alone, like "api.example.com"'
    ),
    "embeds": _list_of(formats.ORIGIN, "bad_origin", _ORIGIN_SENTENCE),
    "signedInEmbeds": _list_of(formats.ORIGIN, "bad_origin", _ORIGIN_SENTENCE),
    "$schema": _ignored,
}
KEYS: Final = (*_RULES, "agent")
