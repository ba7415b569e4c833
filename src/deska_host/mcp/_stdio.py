"""One client on standard input and output (M-8).

The SDK has a transport of its own for this. It reads lines of any length, in a thread that cannot
be stopped while the client says nothing; this one does neither.
"""

from __future__ import annotations

import contextlib
import os
import sys
from typing import TYPE_CHECKING, Any, TextIO, cast

import anyio
import anyio.lowlevel
import mcp_types as types
from mcp.shared.message import SessionMessage

if sys.platform != "win32":
    import fcntl

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Generator

    from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
    from mcp.server.lowlevel import Server

    from deska_host.mcp._limits import DoorLimits

#: How much is read, and how much is written, at once. A pipe that is ready takes this much
#: without blocking: POSIX promises 512 bytes, Linux a page.
_READ = 65_536
_WRITE = 4_096

_PARSE_ERROR = "This line is no JSON-RPC message in UTF-8."
_TOO_LONG = "A line may have {limit} bytes at most. Send less in each call."

#: Whether standard input and output are taken; they are the process's.
_taken = False


async def serve_stdio(
    server: Server[Any], stdin: int | None, stdout: int | None, limits: DoorLimits
) -> None:
    """Serve one client until its end of the input closes, or it stops reading the output.

    :raises RuntimeError: standard input and output are taken, or the system is not POSIX.
    """
    if sys.platform == "win32":
        raise RuntimeError("serving MCP on standard input and output needs a POSIX system")
    with _descriptors(stdin, stdout) as (source, target):
        requests, incoming = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        outgoing, replies = anyio.create_memory_object_stream[SessionMessage](0)
        async with anyio.create_task_group() as group:
            written = anyio.Event()

            async def write() -> None:
                try:
                    await _write_all(target, replies)
                except OSError:
                    # Nobody reads any more, so nobody waits for a call either.
                    group.cancel_scope.cancel()
                finally:
                    written.set()

            group.start_soon(_read_all, source, requests, outgoing.clone(), limits.message_bytes)
            group.start_soon(write)
            await server.run(incoming, outgoing, server.create_initialization_options())
            with anyio.move_on_after(limits.farewell_seconds):
                await written.wait()
            group.cancel_scope.cancel()


# --- lines


async def _read_all(
    source: int,
    requests: MemoryObjectSendStream[SessionMessage | Exception],
    refusals: MemoryObjectSendStream[SessionMessage],
    most: int,
) -> None:
    async with requests, refusals, contextlib.aclosing(_lines(source, most)) as lines:
        async for line in lines:
            message = None if line is None else _parsed(line)
            if message is not None:
                await requests.send(SessionMessage(message))
            elif line is None:
                await refusals.send(_refusal(types.INVALID_REQUEST, _TOO_LONG.format(limit=most)))
            else:
                await refusals.send(_refusal(types.PARSE_ERROR, _PARSE_ERROR))


def _parsed(line: bytes) -> types.JSONRPCMessage | None:
    try:
        return types.jsonrpc_message_adapter.validate_json(line, by_name=False)
    except ValueError:
        # Its error quotes the line, so it goes nowhere.
        return None


def _refusal(code: int, message: str) -> SessionMessage:
    error = types.ErrorData(code=code, message=message)
    return SessionMessage(types.JSONRPCError(jsonrpc="2.0", id=None, error=error))


async def _lines(source: int, most: int) -> AsyncGenerator[bytes | None]:
    """Each line that is not blank; ``None`` in the place of one of more than ``most`` bytes.

    What is over is let go of as it comes, so a line without an end takes no memory.
    """
    kept = bytearray()
    too_long = False
    while chunk := await _read(source):
        *ended, rest = chunk.split(b"\n")
        for part in ended:
            kept += part
            line, over = bytes(kept), too_long or len(kept) > most
            kept.clear()
            too_long = False
            if over:
                yield None
            elif line.strip():
                yield line
        if not too_long:
            kept += rest
        if len(kept) > most:
            kept.clear()
            too_long = True


async def _read(source: int) -> bytes:
    while True:
        await _ready(anyio.wait_readable, source)
        try:
            return os.read(source, _READ)
        except BlockingIOError:
            # Its owner does not want reads to block; the wait was for nothing.
            continue
        except OSError:
            # A terminal that is gone, a connection that was reset: the client has left.
            return b""


async def _write_all(target: int, replies: MemoryObjectReceiveStream[SessionMessage]) -> None:
    async with replies:
        async for reply in replies:
            text = reply.message.model_dump_json(by_alias=True, exclude_unset=True)
            rest = memoryview(f"{text}\n".encode())
            while rest:
                await _ready(anyio.wait_writable, target)
                with contextlib.suppress(BlockingIOError):
                    rest = rest[os.write(target, rest[:_WRITE]) :]


async def _ready(wait: Callable[[int], Awaitable[None]], descriptor: int) -> None:
    try:
        await wait(descriptor)
    except PermissionError:
        # A file, or /dev/null: always ready, and not to be waited for.
        await anyio.lowlevel.checkpoint()


# --- the process's own


@contextlib.contextmanager
def _descriptors(stdin: int | None, stdout: int | None) -> Generator[tuple[int, int]]:
    with contextlib.ExitStack() as stack:
        if stdin is None or stdout is None:
            stack.enter_context(_claim())
        if stdin is None:
            stdin = stack.enter_context(_moved(0, lambda: os.open(os.devnull, os.O_RDONLY)))
        if stdout is None:
            stdout = stack.enter_context(_moved(1, _standard_error))
            stack.enter_context(_prints_to_standard_error())
        yield stdin, stdout


@contextlib.contextmanager
def _claim() -> Generator[None]:
    global _taken
    if _taken:
        raise RuntimeError("a client is served on standard input and output already")
    _taken = True
    try:
        yield
    finally:
        _taken = False


@contextlib.contextmanager
def _moved(descriptor: int, instead: Callable[[], int]) -> Generator[int]:
    """A private copy of a standard descriptor, which meanwhile is something harmless.

    So a page, a library in C, or a child process that reads or prints does not meet the protocol.
    """
    private = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, 3)
    try:
        harmless = instead()
        try:
            os.dup2(harmless, descriptor)
        finally:
            os.close(harmless)
        try:
            yield private
        finally:
            os.dup2(private, descriptor)
    finally:
        os.close(private)


def _standard_error() -> int:
    try:
        return os.dup(2)
    except OSError:  # closed by who started us
        return os.open(os.devnull, os.O_WRONLY)


@contextlib.contextmanager
def _prints_to_standard_error() -> Generator[None]:
    # What is printed may stay in Python's own buffer for long, until standard output is the
    # protocol's again. So it goes elsewhere at once, and what somebody wrote past that is let out
    # while the descriptor still leads elsewhere.
    own = sys.stdout
    _flush(own)
    try:
        with contextlib.redirect_stdout(sys.stderr):
            yield
    finally:
        _flush(own)


def _flush(stream: TextIO | None) -> None:
    # None, or closed: there is nothing to let out.
    with contextlib.suppress(AttributeError, ValueError, OSError):
        cast("TextIO", stream).flush()
