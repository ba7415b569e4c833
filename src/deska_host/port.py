"""The host's end of the port: what pages ask for, done with the store and the embedder (G-3)."""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, TypeVar

from attrs import field, frozen

from deska_host.blobs import Blob
from deska_sdk import fence
from deska_sdk.errors import InvalidValue, PageCode, PageError, TooLarge

if TYPE_CHECKING:
    from deska_host.keeper import Keeper
    from deska_sdk.limits import Limits
    from deska_sdk.panels.manifest import Manifest

T = TypeVar("T")

#: ``save(panel, name, blob)``, ``copy(panel, text)`` and ``notify(panel, text)``.
SaveHandler = Callable[[str, str, Blob], Awaitable[None]]
TextHandler = Callable[[str, str], Awaitable[None]]

# A media type as RFC 2045 spells it, without parameters; a Blob may also have none.
_MEDIA_TYPE = re.compile(r"(?:[A-Za-z0-9!#$&^_.+-]{1,63}/[A-Za-z0-9!#$&^_.+-]{1,63})?")

_SURROGATE = re.compile("[\ud800-\udfff]")


@frozen(kw_only=True)
class PageHandlers:
    """What the embedder does for pages. What has no handler is ``unsupported`` (G-1)."""

    save: SaveHandler | None = field(default=None, repr=False)
    copy: TextHandler | None = field(default=None, repr=False)
    notify: TextHandler | None = field(default=None, repr=False)


class PagePort:
    """Answers what the pages of one host ask for, but for ``ready`` and ``agent.respond``."""

    def __init__(
        self,
        keeper: Keeper,
        handlers: PageHandlers,
        limits: Limits,
        new_file_id: Callable[[], str],
        manifest: Callable[[str], Manifest | None],
    ) -> None:
        self._keeper = keeper
        self._handlers = handlers
        self._limits = limits
        self._new_file_id = new_file_id
        self._manifest = manifest
        self._answers: dict[str, Callable[[str, dict[str, Any]], Awaitable[object]]] = {
            "storage.get": self._storage_get,
            "storage.set": self._storage_set,
            "files.put": self._files_put,
            "files.get": self._files_get,
            "files.ids": self._files_ids,
            "files.delete": self._files_delete,
            "save": self._save,
            "copy": self._copy,
            "notify": self._notify,
        }

    async def answer(self, panel: str, message: dict[str, Any]) -> object:
        """What ``message``, already checked by the port's table, settles to.

        :raises PageError: it is refused.
        """
        return await self._answers[message["type"]](panel, message)

    async def _storage_get(self, panel: str, message: dict[str, Any]) -> object:
        key = _text(message["key"])
        store = self._keeper.store
        text = await self._keeper.run(lambda: store.storage_get(panel, key))
        return None if text is None else json.loads(text)

    async def _storage_set(self, panel: str, message: dict[str, Any]) -> None:
        key = _text(message["key"])
        # The text is made before anything is awaited: a page may go on changing its value.
        text = _json(message["value"], self._limits)
        store = self._keeper.store
        await self._write(panel, lambda: store.storage_set(panel, key, text))

    async def _files_put(self, panel: str, message: dict[str, Any]) -> dict[str, str]:
        blob = _blob(message["blob"])
        if blob.size > self._limits.file_bytes:
            raise PageError(PageCode.QUOTA_EXCEEDED)
        file_id = self._new_file_id()
        store = self._keeper.store
        await self._write(panel, lambda: store.file_put(panel, file_id, blob.type, blob.data))
        return {"id": file_id}

    async def _files_get(self, panel: str, message: dict[str, Any]) -> Blob | None:
        file_id = _text(message["file"])
        store = self._keeper.store
        kept = await self._keeper.run(lambda: store.file_get(panel, file_id))
        return None if kept is None else Blob(kept[1], kept[0])

    async def _files_ids(self, panel: str, _message: dict[str, Any]) -> list[str]:
        store = self._keeper.store
        return list(await self._keeper.run(lambda: store.file_ids(panel)))

    async def _files_delete(self, panel: str, message: dict[str, Any]) -> None:
        file_id = _text(message["file"])
        store = self._keeper.store
        await self._keeper.run(lambda: store.file_delete(panel, file_id))

    async def _write(self, panel: str, write: Callable[[], None]) -> None:
        def job() -> None:
            # G-3: "Uninstalling deletes storage, files". The store's jobs run one after another,
            # so what a page asked for behind its panel's uninstalling finds the panel gone.
            if self._manifest(panel) is None:
                raise PageError(PageCode.UNSUPPORTED)
            write()

        await self._keeper.run(job)

    async def _save(self, panel: str, message: dict[str, Any]) -> None:
        name, blob = _text(message["name"]), _blob(message["blob"])
        handler = _supported(self._handlers.save)
        await handler(panel, name, blob)

    async def _copy(self, panel: str, message: dict[str, Any]) -> None:
        text = _text(message["text"])
        handler = _supported(self._handlers.copy)
        self._permitted(panel, "clipboard-write")
        await handler(panel, text)

    async def _notify(self, panel: str, message: dict[str, Any]) -> None:
        text = _text(message["text"])
        handler = _supported(self._handlers.notify)
        self._permitted(panel, "notify")
        await handler(panel, text)

    def _permitted(self, panel: str, permission: str) -> None:
        manifest = self._manifest(panel)
        if manifest is None or permission not in manifest.permissions:
            raise PageError(PageCode.UNSUPPORTED)


def _supported(handler: Callable[..., Awaitable[None]] | None) -> Callable[..., Awaitable[None]]:
    if handler is None:
        raise PageError(PageCode.UNSUPPORTED)
    return handler


def _text(value: object) -> str:
    if type(value) is not str or not is_utf8(value):
        raise PageError(PageCode.INVALID_ARGS)
    return value


def _json(value: object, limits: Limits) -> str:
    code = PageCode.INVALID_ARGS
    try:
        text = fence.compact(value, limits.storage_bytes)
    except InvalidValue:
        text = None
    except TooLarge:
        text, code = None, PageCode.QUOTA_EXCEEDED
    if text is None or not is_utf8(text):
        # Raised out here: the errors above know where in the page's value they stopped.
        raise PageError(code)
    return text


def is_utf8(text: str) -> bool:
    """Whether the text can be kept."""
    # Half a surrogate pair cannot be kept.
    return text.isascii() or _SURROGATE.search(text) is None


def _blob(value: object) -> Blob:
    if (
        isinstance(value, Blob)
        and type(value.data) is bytes
        and type(value.type) is str
        and _MEDIA_TYPE.fullmatch(value.type)
    ):
        return value
    raise PageError(PageCode.INVALID_ARGS)
