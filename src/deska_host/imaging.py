"""Decoding images in a process that can be killed (I-6).

    async with ImageWorker() as worker:
        info = await worker.verify(data)
        png = await worker.to_png(data, max_side=1024)

:class:`ImageWorker` needs no task of its owner and works on asyncio and on trio, in any thread.
Its process starts with the first image and ends after ``limits.worker_idle_seconds`` without one,
at :meth:`ImageWorker.aclose`, and whenever an image hangs, breaks it, or is cancelled midway.

An embedder that cannot start Python (a frozen app) passes its own :class:`ImageExecutor`, or
:class:`NoImages`: without a process images are refused, never decoded in the host's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import anyio
import anyio.to_thread

from deska_host import _image_worker as wire
from deska_host._image_process import Answer, ImageProcess, Job, worker_command
from deska_sdk.errors import AgentCode, Refused
from deska_sdk.images import (
    Background,
    Deflate,
    ImageInfo,
    background_rgb,
    check_png,
    sniff,
)
from deska_sdk.images._deflate import deflater
from deska_sdk.limits import DEFAULT_LIMITS, Limits

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import TracebackType
    from typing import Self


class ImageExecutor(Protocol):
    """What the host needs of whoever decodes its images."""

    async def verify(self, data: bytes) -> ImageInfo:
        """Decodes the first frame and throws it away; see :func:`deska_sdk.images.verify`."""
        ...

    async def to_png(
        self, data: bytes, max_side: int | None = None, background: Background = "white"
    ) -> bytes:
        """Re-encodes the first frame; see :func:`deska_sdk.images.to_png`."""
        ...

    async def aclose(self) -> None:
        """Ends what the executor holds; afterwards every image is refused."""
        ...


class NoImages:
    """The executor of a host that cannot decode images: it refuses every one (I-6)."""

    async def verify(self, data: bytes) -> ImageInfo:  # noqa: ARG002 - refused unseen
        """Refuses.

        :raises Refused: ``image_unsupported``, always.
        """
        raise Refused(AgentCode.IMAGE_UNSUPPORTED)

    async def to_png(
        self,
        data: bytes,  # noqa: ARG002
        max_side: int | None = None,  # noqa: ARG002
        background: Background = "white",  # noqa: ARG002
    ) -> bytes:
        """Refuses.

        :raises Refused: ``image_unsupported``, always.
        """
        raise Refused(AgentCode.IMAGE_UNSUPPORTED)

    async def aclose(self) -> None:
        """Does nothing: there is nothing to end."""


class ImageWorker:
    """Decodes images in a child process, one at a time, ``limits.decode_seconds`` each (I-6).

    The header check comes first and in this process; it decodes nothing. A crash, a bomb or a
    hang costs the one image: its process is killed and reaped, and the next image starts another.
    So does cancelling a call midway. What the process answers is not trusted either: a PNG that is
    not plain (I-5) is refused and ends the process.

    One instance serves one event loop. It leaves neither a process nor a descriptor behind after
    :meth:`aclose`; ``async with`` calls that.

    :param limits: ``decode_seconds`` (real time, with the start of the process),
        ``decode_memory_bytes`` (where the system can cap it), ``worker_idle_seconds``, and what
        :mod:`deska_sdk.images` takes.
    :param command: the command line of another worker that speaks the same frames. By default
        ``_image_worker.py`` under this Python; in a frozen app, where that would start the app
        again, there is none and every image is refused.
    :param deflate: what writes PNGs; see :data:`deska_sdk.images.Deflate`.
    :raises ImportError: ``deflate`` is ``isal``, and that package is not there.
    :raises ValueError: ``deflate`` is none of those.
    """

    def __init__(
        self,
        limits: Limits = DEFAULT_LIMITS,
        command: Sequence[str] | None = None,
        *,
        deflate: Deflate = "auto",
    ) -> None:
        # Here a missing package can be told; in the process it would be every image's fault.
        deflater(deflate)
        self._limits = limits
        self._process = ImageProcess(
            worker_command(limits, deflate) if command is None else command,
            limits.worker_idle_seconds,
        )
        self._closed = False
        self._job: Job | None = None
        self._turn = anyio.Lock()
        # Of its own, so that a host whose threads are all busy still decodes: one for the job,
        # one to clean up after a job that was given up while its thread still waits.
        self._threads = anyio.CapacityLimiter(2)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.aclose()

    async def verify(self, data: bytes) -> ImageInfo:
        """Decodes the first frame of an image and throws it away (I-2).

        :param data: the whole file.
        :return: its media type and its size as stored.
        :raises Refused: ``image_too_large`` or ``image_unsupported`` as
            :func:`deska_sdk.images.verify`; ``image_unsupported`` also where decoding breaks the
            process or the worker is closed; ``image_timeout`` where it takes too long.
        """
        info = sniff(data, limits=self._limits)
        head = bytes((wire.VERIFY,)) + bytes(wire.HEAD - 1)
        _refuse(await self._ask((head, data), 1, lambda answer: answer.status in _STATUSES))
        return info

    async def to_png(
        self, data: bytes, max_side: int | None = None, background: Background = "white"
    ) -> bytes:
        """The first frame of an image as a plain PNG (I-5).

        :param data: the whole file.
        :param max_side: the most pixels a side; ``limits.image_side`` by default.
        :param background: what shows through transparency.
        :raises Refused: as :meth:`verify`; ``image_unsupported`` also where the PNG would be over
            ``limits.png_bytes``.
        :raises ValueError: as :func:`deska_sdk.images.to_png`.
        """
        side = self._limits.image_side if max_side is None else max_side
        if type(side) is not int or side < 1:
            raise ValueError("max_side is an integer of at least 1")
        colour = background_rgb(background)
        sniff(data, limits=self._limits)
        # No side is longer than the pixels an image may have.
        side = min(side, self._limits.image_pixels)
        head = bytes((wire.TO_PNG,)) + side.to_bytes(4, "big") + bytes(colour)
        answer = await self._ask(
            (head, data),
            1 + self._limits.png_bytes,
            lambda answer: _is_refusal(answer) or _is_plain_png(answer, side),
        )
        _refuse(answer)
        return answer.data

    async def aclose(self) -> None:
        """Ends the process and refuses what is asked later. A job that runs is refused as well."""
        self._closed = True
        if self._job is not None:
            self._job.kill()
        with anyio.CancelScope(shield=True):
            async with self._turn:
                await anyio.to_thread.run_sync(self._process.end, limiter=self._threads)

    async def _ask(
        self, request: tuple[bytes, bytes], most: int, accept: Callable[[Answer], bool]
    ) -> Answer:
        async with self._turn:
            if self._closed:
                raise Refused(AgentCode.IMAGE_UNSUPPORTED)
            job = self._job = Job(self._process, request, most, accept)
            try:
                with anyio.move_on_after(self._limits.decode_seconds) as deadline:
                    await anyio.to_thread.run_sync(
                        job.run, abandon_on_cancel=True, limiter=self._threads
                    )
            finally:
                self._job = None
                # Late or cancelled: the process is ended before anybody else has a turn.
                if not job.over:
                    job.kill()
                    with anyio.CancelScope(shield=True):
                        await anyio.to_thread.run_sync(self._process.settle, limiter=self._threads)
            if deadline.cancelled_caught:
                raise Refused(AgentCode.IMAGE_TIMEOUT)
            if job.answer is None:
                raise Refused(AgentCode.IMAGE_UNSUPPORTED)
            return job.answer


_REFUSALS = {
    wire.UNSUPPORTED: AgentCode.IMAGE_UNSUPPORTED,
    wire.TOO_LARGE: AgentCode.IMAGE_TOO_LARGE,
}
_STATUSES = {wire.DONE, *_REFUSALS}


def _refuse(answer: Answer) -> None:
    code = _REFUSALS.get(answer.status)
    if code is not None:
        raise Refused(code)


def _is_refusal(answer: Answer) -> bool:
    return not answer.data and answer.status in _REFUSALS


def _is_plain_png(answer: Answer, side: int) -> bool:
    try:
        info = check_png(answer.data)
    except ValueError:
        return False
    return answer.status == wire.DONE and max(info.width, info.height) <= side
