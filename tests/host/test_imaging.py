"""The image worker: what hangs, crashes or grows costs one image and leaves nothing."""

from __future__ import annotations

import os
import sys
import textwrap
import threading
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import pytest
from attrs import evolve
from PIL import Image

from deska_host import _image_process, _image_worker, imaging
from deska_host.imaging import ImageWorker, NoImages
from deska_sdk import images
from deska_sdk.errors import AgentCode, Refused
from deska_sdk.limits import DEFAULT_LIMITS, Limits
from tests.kernel import support_images as make

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator

pytestmark = pytest.mark.anyio

PICTURE = make.encoded(make.quarters(), "PNG")
UNSUPPORTED, TOO_LARGE, TIMEOUT = (
    AgentCode.IMAGE_UNSUPPORTED,
    AgentCode.IMAGE_TOO_LARGE,
    AgentCode.IMAGE_TIMEOUT,
)
DONE = _image_process.Answer(0, b"")
BRIEF = evolve(DEFAULT_LIMITS, decode_seconds=0.3)


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    return request.param


def children() -> set[int]:
    """Every process that this one has started and not reaped, zombies with them."""
    found: set[int] = set()
    for entry in Path("/proc/self/task").iterdir():
        # A thread may end between the listing and the reading.
        with suppress(FileNotFoundError, ProcessLookupError):
            found |= set(map(int, (entry / "children").read_text().split()))
    return found


def pipes() -> int:
    """How many pipes this process holds. (An event loop's own are counted before and after.)"""
    count = 0
    for entry in Path("/proc/self/fd").iterdir():
        with suppress(FileNotFoundError):
            count += str(entry.readlink()).startswith("pipe:")
    return count


def idle_timers() -> list[threading.Timer]:
    """The idle timers whose threads still run."""
    return [thread for thread in threading.enumerate() if isinstance(thread, threading.Timer)]


@pytest.fixture(autouse=True)
def nothing_left() -> Iterator[None]:
    """Each test here also proves that no process, no descriptor and no timer stays."""
    before = children(), pipes()
    yield
    assert (children(), pipes()) == before
    for timer in idle_timers():
        # Given up, then: its thread needs a moment to see that.
        assert timer.finished.is_set()
        timer.join()


def script(tmp_path: Path, body: str, name: str = "worker.py") -> tuple[str, ...]:
    """A worker of the test's own: it has ``frame()`` to read a request and ``answer(bytes)``."""
    head = """
        import os, sys, time
        def read(count):
            data = b""
            while len(data) < count:
                part = os.read(0, count - len(data))
                if not part:
                    sys.exit()
                data += part
            return data
        def frame():
            return read(int.from_bytes(read(4), "big"))
        def answer(data):
            os.write(1, len(data).to_bytes(4, "big") + data)
    """
    path = tmp_path / name
    path.write_text(textwrap.dedent(head) + textwrap.dedent(body), encoding="utf-8")
    return sys.executable, "-I", "-S", str(path)


async def refusal_of(work: Awaitable[object]) -> AgentCode:
    with pytest.raises(Refused) as caught:
        await work
    assert caught.value.__context__ is None
    assert caught.value.__cause__ is None
    code = caught.value.code
    assert isinstance(code, AgentCode)
    return code


@pytest.mark.rule("I-2", "I-5", "I-6")
@pytest.mark.parametrize("kind", make.FORMATS)
async def test_the_process_decodes_and_encodes_as_the_engine_does(kind: str) -> None:
    data = make.oriented(kind, 6)
    async with ImageWorker() as worker:
        assert await worker.verify(data) == images.verify(data)
        assert await worker.to_png(data, 20, "#102030") == images.to_png(data, 20, "#102030")
        assert await worker.to_png(data) == images.to_png(data)


@pytest.mark.rule("I-5")
async def test_the_process_flattens_on_the_background_it_is_asked_for() -> None:
    clear = make.encoded(Image.new("RGBA", (2, 2)), "PNG")
    async with ImageWorker() as worker:
        out = make.decoded(await worker.to_png(clear, background=(1, 2, 3)))
    assert out.convert("RGB").getpixel((0, 0)) == (1, 2, 3)


@pytest.mark.rule("I-2", "I-6")
async def test_the_process_refuses_what_the_engine_refuses_and_goes_on() -> None:
    noise = make.encoded(Image.effect_noise((64, 64), 90), "PNG")
    async with ImageWorker() as worker:
        await worker.verify(PICTURE)
        process = children()
        for work in (worker.verify, worker.to_png):
            assert await refusal_of(work(b"GIF89a")) is UNSUPPORTED
            assert await refusal_of(work(noise[: len(noise) // 2])) is UNSUPPORTED
            assert await refusal_of(work(noise + bytes(DEFAULT_LIMITS.image_bytes))) is TOO_LARGE
        await worker.verify(PICTURE)
        assert children() == process


@pytest.mark.rule("I-6")
async def test_a_header_that_claims_too_much_starts_no_process() -> None:
    bomb = make.PNG_SIGNATURE + make.ihdr(60_000, 60_000, 8, 2) + make.png_chunk(b"IEND")
    async with ImageWorker() as worker:
        before = children()
        assert await refusal_of(worker.verify(bomb)) is TOO_LARGE
        assert await refusal_of(worker.to_png(bomb)) is TOO_LARGE
        assert children() == before


@pytest.mark.rule("I-6")
async def test_the_limits_hold_in_the_process_too() -> None:
    limits = evolve(DEFAULT_LIMITS, image_pixels=48 * 32, image_side=9)
    async with ImageWorker(limits) as worker:
        assert images.check_png(await worker.to_png(PICTURE)).width == 9
        wide = make.encoded(Image.new("L", (49, 32)), "PNG")
        assert await refusal_of(worker.to_png(wide)) is TOO_LARGE


@pytest.mark.rule("I-6")
@pytest.mark.parametrize("operation", ["verify", "to_png"])
@pytest.mark.parametrize("body", ["time.sleep(999)", "frame(); time.sleep(999)"])
async def test_a_decoder_that_hangs_costs_its_time_and_one_image(
    tmp_path: Path, body: str, operation: str
) -> None:
    async with ImageWorker(BRIEF, script(tmp_path, body)) as worker:
        before = children()
        # More than a pipe holds: a decoder that does not even read must not hold the host.
        big = PICTURE + bytes(1_000_000)
        assert await refusal_of(getattr(worker, operation)(big)) is TIMEOUT
        assert children() == before


@pytest.mark.rule("I-6")
@pytest.mark.parametrize(
    "body",
    [
        pytest.param("sys.exit(3)", id="ends at once"),
        pytest.param("frame(); os.abort()", id="crashes"),
        pytest.param("frame(); os.kill(os.getpid(), 11)", id="breaks its memory"),
        pytest.param("os.close(0); os.close(1); time.sleep(999)", id="closes its pipes"),
        pytest.param("frame(); os.write(1, b'\\0\\0'); sys.exit()", id="half a length"),
        pytest.param("frame(); os.write(1, b'\\0\\0\\0\\5\\0'); sys.exit()", id="half an answer"),
        pytest.param("frame(); os.write(1, b'\\xff' * 9); time.sleep(999)", id="too long"),
        pytest.param("frame(); answer(b''); time.sleep(999)", id="empty"),
        pytest.param("frame(); answer(b'\\x63'); time.sleep(999)", id="no status"),
        pytest.param("frame(); answer(b'Traceback (most'); time.sleep(999)", id="words"),
    ],
)
async def test_a_decoder_that_breaks_costs_one_image_and_leaves_no_process(
    tmp_path: Path, body: str
) -> None:
    async with ImageWorker(command=script(tmp_path, body)) as worker:
        before = children()
        for _ in range(2):
            assert await refusal_of(worker.verify(PICTURE)) is UNSUPPORTED
            assert await refusal_of(worker.to_png(PICTURE)) is UNSUPPORTED
            assert children() == before


@pytest.mark.rule("I-6")
async def test_the_image_after_a_crash_is_decoded_by_a_new_process(tmp_path: Path) -> None:
    body = f"""
        flag = {str(tmp_path / "crashed")!r}
        frame()
        if not os.path.exists(flag):
            open(flag, "w").close()
            os.abort()
        answer(b"\\x00")
        frame()
    """
    async with ImageWorker(command=script(tmp_path, body)) as worker:
        assert await refusal_of(worker.verify(PICTURE)) is UNSUPPORTED
        assert (await worker.verify(PICTURE)).width == 48


@pytest.mark.rule("I-5", "I-6")
@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(b"\x00", id="nothing"),
        pytest.param(b"\x00" + b"<script>", id="no png"),
        pytest.param(b"\x01" + images.to_png(PICTURE), id="a refusal with a picture"),
        pytest.param(b"\x00" + make.encoded(Image.new("L", (65, 1)), "PNG"), id="too large a side"),
        pytest.param(
            b"\x00" + make.with_chunks(images.to_png(PICTURE), make.png_chunk(b"tEXt", b"a\x00b")),
            id="a text",
        ),
        pytest.param(b"\x00" + images.to_png(PICTURE) + b"more", id="trailing bytes"),
    ],
)
async def test_what_a_decoder_sends_is_not_trusted(tmp_path: Path, answer: bytes) -> None:
    body = f"""
        while True:
            frame()
            answer({answer!r})
    """
    async with ImageWorker(command=script(tmp_path, body)) as worker:
        before = children()
        assert await refusal_of(worker.to_png(PICTURE, 64)) is UNSUPPORTED
        assert children() == before


@pytest.mark.rule("I-4", "I-6")
async def test_an_answer_over_the_png_bytes_allowed_is_refused_unread() -> None:
    limits = evolve(DEFAULT_LIMITS, png_bytes=len(images.to_png(PICTURE)))
    async with ImageWorker(limits) as worker:
        assert await worker.to_png(PICTURE)
    async with ImageWorker(evolve(limits, png_bytes=limits.png_bytes - 1)) as worker:
        assert await refusal_of(worker.to_png(PICTURE)) is UNSUPPORTED


@pytest.mark.rule("I-6")
@pytest.mark.skipif(sys.platform != "linux", reason="the cap on memory is Linux's")
async def test_a_picture_that_needs_more_memory_than_allowed_is_refused() -> None:
    # 20 million pixels take 80 MB as RGB; the process may have 80 in all.
    data = make.encoded(Image.new("RGB", (5_000, 4_000)), "PNG", compress_level=1)
    limits = evolve(DEFAULT_LIMITS, decode_memory_bytes=80 * 1_048_576)
    async with ImageWorker(limits) as worker:
        assert await refusal_of(worker.verify(data)) is UNSUPPORTED
        assert await refusal_of(worker.to_png(data)) is UNSUPPORTED
        assert (await worker.verify(PICTURE)).width == 48


@pytest.mark.rule("I-6")
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
async def test_the_process_has_neither_memory_nor_files_nor_environment_to_spare(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("DESKA_TEST_SECRET", "sesame")
    async with ImageWorker() as worker:
        before = children()
        await worker.verify(PICTURE)
        (process,) = children() - before
        environment = Path(f"/proc/{process}/environ").read_bytes()
        limits = {
            line[:26].strip(): line[26:].split()[:2]
            for line in Path(f"/proc/{process}/limits").read_text().splitlines()
        }
        open_files = len(list(Path(f"/proc/{process}/fd").iterdir()))
    names = {entry.partition(b"=")[0] for entry in environment.split(b"\0") if entry}
    assert names <= {b"LD_LIBRARY_PATH", b"LC_CTYPE"}
    assert limits["Max address space"] == [str(DEFAULT_LIMITS.decode_memory_bytes)] * 2
    for name in ("Max core file size", "Max file size", "Max processes"):
        assert limits[name] == ["0", "0"]
    assert limits["Max open files"] == ["16", "16"]
    assert limits["Max cpu time"][0] != "unlimited"
    assert open_files <= 5


@pytest.mark.rule("I-6")
async def test_the_process_is_a_bare_python_of_its_own_session() -> None:
    command = _image_process.worker_command(DEFAULT_LIMITS)
    assert command is not None
    assert command[:3] == (sys.executable, "-I", "-S")
    async with ImageWorker() as worker:
        before = children()
        await worker.verify(PICTURE)
        (process,) = children() - before
        assert os.getsid(process) == process


@pytest.mark.rule("I-6")
@pytest.mark.parametrize("operation", ["verify", "to_png"])
async def test_cancelling_a_call_midway_ends_the_process_and_leaves_nothing(
    tmp_path: Path, operation: str
) -> None:
    started = tmp_path / "started"
    body = f"""
        frame()
        open({str(started)!r}, "w").close()
        time.sleep(999)
    """
    async with ImageWorker(command=script(tmp_path, body)) as worker:
        before = children(), pipes()
        async with anyio.create_task_group() as group:
            group.start_soon(getattr(worker, operation), PICTURE)
            while not started.exists():
                await anyio.lowlevel.checkpoint()
            group.cancel_scope.cancel()
        assert children() == before[0]
        # A thread of the host's that carried the job may keep an event loop's pipe, no child's.
        assert pipes() == before[1]


@pytest.mark.rule("I-6")
async def test_cancelling_a_call_that_waits_its_turn_disturbs_nobody(tmp_path: Path) -> None:
    go = tmp_path / "go"
    body = f"""
        count = 0
        while True:
            frame()
            count += 1
            while not os.path.exists({str(go)!r}):
                time.sleep(0.001)
            answer(b"\\x00" if count == 1 else b"\\x01")
    """
    seen: list[images.ImageInfo] = []

    async def first() -> None:
        seen.append(await worker.verify(PICTURE))

    async with ImageWorker(command=script(tmp_path, body)) as worker:
        async with anyio.create_task_group() as group:
            group.start_soon(first)
            await anyio.wait_all_tasks_blocked()
            with anyio.CancelScope() as scope:
                scope.cancel()
                await worker.verify(PICTURE)
            assert scope.cancelled_caught
            go.touch()
        assert len(seen) == 1
        # The same process goes on: it counts one request before this one.
        assert await refusal_of(worker.verify(PICTURE)) is UNSUPPORTED


@pytest.mark.rule("I-6")
async def test_one_image_is_decoded_at_a_time(tmp_path: Path) -> None:
    log = tmp_path / "log"
    body = f"""
        log = os.open({str(log)!r}, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        while True:
            frame()
            os.write(log, b"(")
            time.sleep(0.005)
            os.write(log, b")")
            answer(b"\\x00")
    """
    async with ImageWorker(command=script(tmp_path, body)) as worker:
        before = children()
        async with anyio.create_task_group() as group:
            for _ in range(5):
                group.start_soon(worker.verify, PICTURE)
        assert len(children() - before) == 1
    assert log.read_text() == "()" * 5


@pytest.mark.rule("A-8", "I-6")
async def test_an_idle_process_ends_and_the_next_image_starts_another() -> None:
    async with ImageWorker(evolve(DEFAULT_LIMITS, worker_idle_seconds=0.01)) as worker:
        before = children(), pipes()
        for _ in range(2):
            await worker.verify(PICTURE)
            with anyio.fail_after(20):
                while (children(), pipes()) != before:
                    await anyio.lowlevel.checkpoint()


@pytest.mark.rule("A-8")
async def test_an_idle_timer_that_rings_too_late_ends_nobodys_process() -> None:
    process = _image_process.ImageProcess(_image_process.worker_command(DEFAULT_LIMITS), 30)
    request = (bytes((1, *bytes(7))), PICTURE)
    before = children()
    timers: list[threading.Timer | None] = []
    for _ in range(2):
        job = _image_process.Job(process, request, 1, lambda answer: answer == DONE)
        await anyio.to_thread.run_sync(job.run)
        assert job.answer == DONE
        timers.append(process._idle)
    running = children()
    timers[0].function()
    assert children() == running != before
    timers[1].function()
    assert children() == before
    process.end()
    timers[1].cancel()
    timers[1].join()


@pytest.mark.rule("A-8", "I-6")
async def test_a_process_that_is_used_does_not_idle_out() -> None:
    async with ImageWorker(evolve(DEFAULT_LIMITS, worker_idle_seconds=20)) as worker:
        before = children()
        await worker.verify(PICTURE)
        process = children()
        await worker.to_png(PICTURE)
        assert children() == process != before
        assert len([timer for timer in idle_timers() if not timer.finished.is_set()]) == 1


@pytest.mark.rule("A-8")
async def test_closing_refuses_what_runs_and_what_comes_after(tmp_path: Path) -> None:
    worker = ImageWorker(command=script(tmp_path, "time.sleep(999)"))
    before = children()
    codes: list[AgentCode] = []

    async def ask() -> None:
        codes.append(await refusal_of(worker.verify(PICTURE)))

    async with anyio.create_task_group() as group:
        group.start_soon(ask)
        group.start_soon(ask)
        while children() == before:
            await anyio.lowlevel.checkpoint()
        await worker.aclose()
    assert children() == before
    await ask()
    await worker.aclose()
    assert codes == [UNSUPPORTED] * 3


@pytest.mark.rule("A-8")
async def test_an_error_inside_the_block_comes_out_as_it_is() -> None:
    async def fail() -> None:
        async with ImageWorker() as worker:
            await worker.verify(PICTURE)
            raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        await fail()


@pytest.mark.rule("I-6")
@pytest.mark.parametrize("command", [(), ("/nowhere/at/all",), ("bad\0name",)])
async def test_where_no_process_can_be_started_images_are_refused(command: tuple[str, ...]) -> None:
    async with ImageWorker(command=command) as worker:
        assert await refusal_of(worker.verify(PICTURE)) is UNSUPPORTED
        assert await refusal_of(worker.to_png(PICTURE)) is UNSUPPORTED


@pytest.mark.rule("I-6")
async def test_a_frozen_app_starts_nothing_and_refuses_images(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    assert _image_process.worker_command(DEFAULT_LIMITS) is None
    async with ImageWorker() as worker:
        assert await refusal_of(worker.verify(PICTURE)) is UNSUPPORTED


@pytest.mark.rule("I-6")
async def test_without_an_executor_every_image_is_refused() -> None:
    nothing: imaging.ImageExecutor = NoImages()
    assert await refusal_of(nothing.verify(PICTURE)) is UNSUPPORTED
    assert await refusal_of(nothing.to_png(PICTURE)) is UNSUPPORTED
    await nothing.aclose()


@pytest.mark.rule("I-5")
@pytest.mark.parametrize(
    "ask",
    [
        lambda worker: worker.to_png(PICTURE, 0),
        lambda worker: worker.to_png(PICTURE, True),
        lambda worker: worker.to_png(PICTURE, background="whitish"),
    ],
)
async def test_a_wrong_argument_is_the_embedders_error(
    ask: Callable[[ImageWorker], Awaitable[bytes]],
) -> None:
    async with ImageWorker() as worker:
        with pytest.raises(ValueError, match=r"max_side is|a background is"):
            await ask(worker)


@pytest.mark.rule("I-6")
async def test_a_loop_in_a_thread_of_its_own_decodes_too(anyio_backend_name: str) -> None:
    found: list[images.ImageInfo] = []

    async def decode() -> None:
        async with ImageWorker() as worker:
            found.append(await worker.verify(PICTURE))

    def elsewhere() -> None:
        anyio.run(decode, backend=anyio_backend_name)

    await anyio.to_thread.run_sync(elsewhere)
    assert [info.width for info in found] == [48]


@pytest.mark.rule("I-6")
async def test_a_host_whose_threads_are_all_busy_still_decodes() -> None:
    limiter = anyio.to_thread.current_default_thread_limiter()
    limiter.total_tokens = 1
    limiter.acquire_on_behalf_of_nowait("somebody else")
    try:
        async with ImageWorker() as worker:
            assert (await worker.verify(PICTURE)).height == 32
    finally:
        limiter.release_on_behalf_of("somebody else")


@pytest.mark.rule("I-6")
async def test_the_deadline_of_an_image_is_a_limit_in_seconds() -> None:
    command = _image_process.worker_command(Limits(decode_seconds=2.5, decode_memory_bytes=7))
    assert command is not None
    assert command[4:6] == ("7", "3")


@pytest.mark.rule("I-5", "I-6")
@pytest.mark.parametrize("deflate", ["zlib", "isal"])
async def test_the_process_deflates_by_what_it_is_told(deflate: images.Deflate) -> None:
    if deflate == "isal":
        pytest.importorskip("isal")
    noise = make.encoded(Image.effect_noise((90, 70), 60), "PNG")
    async with ImageWorker(deflate=deflate) as worker:
        assert await worker.to_png(noise) == images.to_png(noise, deflate=deflate)


@pytest.mark.rule("I-5")
async def test_a_missing_package_is_told_before_any_image(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "isal", None)
    monkeypatch.setitem(sys.modules, "isal.isal_zlib", None)
    with pytest.raises(ImportError, match=r"deska-sdk\[speed\]"):
        ImageWorker(deflate="isal")
    with pytest.raises(ValueError, match="deflate is"):
        ImageWorker(deflate="best")  # type: ignore[arg-type]


@pytest.mark.rule("I-5", "I-6")
async def test_a_picture_of_many_parts_is_the_same_from_the_process() -> None:
    large = Image.effect_noise((1_500, 1_100), 60).resize((2_400, 1_760)).convert("RGB")
    data = make.encoded(large, "JPEG", quality=60)
    async with ImageWorker() as worker:
        assert await worker.to_png(data) == images.to_png(data)


@pytest.mark.rule("I-6")
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize(("megabytes", "most"), [(1_024, 2), (80, 1)])
async def test_the_process_has_a_second_thread_only_where_memory_allows(
    megabytes: int, most: int
) -> None:
    limits = evolve(DEFAULT_LIMITS, decode_memory_bytes=megabytes * 1_048_576)
    async with ImageWorker(limits) as worker:
        before = children()
        await worker.to_png(PICTURE)
        (process,) = children() - before
        threads = len(list(Path(f"/proc/{process}/task").iterdir()))
    assert threads == min(most, os.cpu_count() or 1)


@pytest.mark.rule("I-6")
@pytest.mark.parametrize("hands", [1, 2, 4])
async def test_every_job_is_done_once_and_told_in_its_order(hands: int) -> None:
    together = _image_worker.Hands(hands)
    done: list[int] = []

    def job(number: int) -> int:
        done.append(number)
        return number

    for count in (0, 1, 2, 50):
        done.clear()
        assert together([partial(job, number) for number in range(count)]) == list(range(count))
        assert sorted(done) == list(range(count))


@pytest.mark.rule("I-6")
@pytest.mark.parametrize("hands", [1, 3])
async def test_a_job_that_fails_fails_the_whole_and_nothing_after_it(hands: int) -> None:
    together = _image_worker.Hands(hands)

    def job(number: int) -> int:
        if number == 3:
            raise MemoryError
        return number

    for _ in range(20):
        with pytest.raises(MemoryError):
            together([partial(job, number) for number in range(9)])
        assert together([partial(job, number) for number in (0, 1)]) == [0, 1]


@pytest.mark.rule("I-6")
async def test_where_the_system_gives_no_thread_the_jobs_are_done_all_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(thread: threading.Thread) -> None:
        raise RuntimeError

    size = threading.stack_size()
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", refuse)
        together = _image_worker.Hands(3)
    assert together([partial(int, "7")] * 5) == [7] * 5
    assert threading.stack_size() == size
