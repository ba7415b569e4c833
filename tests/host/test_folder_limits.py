"""Sizes, errors of the system, descriptors, and which folders can be a task's (I-1)."""

# The system calls themselves are what is looked at here.
# ruff: noqa: PTH116, PTH123

from __future__ import annotations

import errno
import os
import stat
import threading
from typing import TYPE_CHECKING

import pytest
from attrs import evolve

from deska_host import folder as folder_module
from deska_host.folder import TaskFolder
from deska_sdk.errors import AgentCode
from deska_sdk.limits import DEFAULT_LIMITS
from tests.host.support_folder import PICTURE, make_root, open_descriptors, refusal

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SMALL = evolve(DEFAULT_LIMITS, image_bytes=len(PICTURE))

pytestmark = pytest.mark.skipif(os.name != "posix", reason="the walk needs POSIX descriptors")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return make_root(tmp_path)


@pytest.fixture
def folder(root: Path) -> Iterator[TaskFolder]:
    with TaskFolder(root) as folder:
        yield folder


# --- sizes ------------------------------------------------------------------------------------


@pytest.mark.rule("I-1")
def test_a_file_of_just_the_limit_is_read_and_one_byte_more_is_too_large(root: Path) -> None:
    (root / "more.png").write_bytes(PICTURE + b"!")
    with TaskFolder(root, limits=SMALL) as folder:
        assert folder.read("pic.png") == PICTURE
        assert refusal(folder, "more.png") is AgentCode.IMAGE_TOO_LARGE


@pytest.mark.rule("I-1")
def test_the_default_limit_is_ten_megabytes(root: Path, folder: TaskFolder) -> None:
    for name, size in (("just.png", 10_485_760), ("more.png", 10_485_761), ("huge.png", 2**40)):
        with open(root / name, "wb") as file:
            file.truncate(size)
    assert folder.read("just.png") == bytes(10_485_760)
    assert refusal(folder, "more.png") is AgentCode.IMAGE_TOO_LARGE
    assert refusal(folder, "huge.png") is AgentCode.IMAGE_TOO_LARGE


@pytest.mark.rule("I-1")
def test_a_file_that_grows_while_it_is_read_never_costs_more_than_the_limit_and_one_byte(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (root / "grows.png").write_bytes(b"")
    taken = 0
    read = os.read

    def reading(descriptor: int, size: int) -> bytes:
        nonlocal taken
        with open(root / "grows.png", "ab") as file:
            file.write(b"more" * 4)
        data = read(descriptor, size)
        taken += len(data)
        return data

    monkeypatch.setattr(os, "read", reading)
    with TaskFolder(root, limits=SMALL) as folder:
        assert refusal(folder, "grows.png") is AgentCode.IMAGE_TOO_LARGE
    assert taken == SMALL.image_bytes + 1


@pytest.mark.rule("I-1")
def test_a_file_that_shrank_after_the_look_at_its_size_gives_what_is_there(
    root: Path, folder: TaskFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    size = os.fstat

    def claims_more(descriptor: int) -> os.stat_result:
        parts = list(size(descriptor))
        parts[stat.ST_SIZE] += 1_000_000
        return os.stat_result(parts)

    monkeypatch.setattr(os, "fstat", claims_more)
    assert folder.read("pic.png") == PICTURE


# --- what the system refuses ------------------------------------------------------------------


@pytest.mark.rule("I-1", "B-2")
@pytest.mark.parametrize("number", [errno.EACCES, errno.EIO, errno.EMFILE, errno.EINVAL])
@pytest.mark.parametrize("call", ["open", "stat", "readlink", "read", "fstat", "dup"])
def test_an_error_of_the_system_is_a_refusal_that_leaks_no_name_and_no_descriptor(
    root: Path, folder: TaskFolder, monkeypatch: pytest.MonkeyPatch, call: str, number: int
) -> None:
    (root / "link").symlink_to("sub")

    def failing(*_args: object, **_named: object) -> None:
        raise OSError(number, "no", "secret-name.png")

    before = open_descriptors()
    with monkeypatch.context() as patch:
        patch.setattr(os, call, failing)
        assert refusal(folder, "link/deep/pic.png") in {
            AgentCode.IMAGE_NOT_FOUND,
            AgentCode.IMAGE_UNSUPPORTED,
        }
    assert open_descriptors() == before


@pytest.mark.rule("I-1")
def test_a_file_without_the_right_to_read_it_is_unsupported(
    folder: TaskFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    really = os.open

    def forbidden(name: bytes, flags: int, *, dir_fd: int) -> int:
        if name == b"pic.png":
            raise PermissionError(errno.EACCES, "no", name)
        return really(name, flags, dir_fd=dir_fd)

    monkeypatch.setattr(os, "open", forbidden)
    assert refusal(folder, "pic.png") is AgentCode.IMAGE_UNSUPPORTED


@pytest.mark.rule("I-1")
def test_where_the_system_cannot_walk_safely_nothing_is_read(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folder_module, "_CAN_WALK", False)
    with TaskFolder(root) as folder:
        assert refusal(folder, "pic.png") is AgentCode.IMAGE_UNSUPPORTED
    with pytest.raises(ValueError, match=r"^a task's folder must be a folder that can be opened$"):
        TaskFolder(root / "pic.png")


# --- descriptors ------------------------------------------------------------------------------


@pytest.mark.rule("A-8")
def test_no_descriptor_stays_open_after_a_read_and_none_after_close(root: Path) -> None:
    (root / "out").symlink_to("../outside")
    (root / "loop").symlink_to("loop")
    start = open_descriptors()
    folder = TaskFolder(root)
    held = open_descriptors()
    assert len(held) == len(start) + 1
    assert folder.read("sub/deep/../../sub/deep/pic.png") == PICTURE
    for path in (
        "out/pic.png",
        "sub/loop",
        "sub/deep/nothing",
        "sub/deep",
        "sub/deep/../..",
        "loop",
    ):
        refusal(folder, path)
        assert open_descriptors() == held
    folder.close()
    folder.close()
    assert open_descriptors() == start


@pytest.mark.rule("A-8")
def test_however_deep_the_path_a_read_holds_only_a_few_descriptors(
    root: Path, folder: TaskFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    depth = 200
    (root / "/".join("d" * depth)).mkdir(parents=True)
    before = open_descriptors()
    most = 0
    really = os.open

    def counting(name: bytes, flags: int, *, dir_fd: int) -> int:
        nonlocal most
        descriptor = really(name, flags, dir_fd=dir_fd)
        most = max(most, descriptor)
        return descriptor

    monkeypatch.setattr(os, "open", counting)
    path = "d/" * depth + "../" * depth + "pic.png"
    assert folder.read(path) == PICTURE
    # Numbers are given from the lowest that is free: the root's, the folder's, the next one's.
    assert most <= max(map(int, before)) + 3
    assert open_descriptors() == before


@pytest.mark.rule("I-1")
def test_a_closed_folder_reads_nothing(root: Path) -> None:
    folder = TaskFolder(root)
    folder.close()
    assert refusal(folder, "pic.png") is AgentCode.IMAGE_UNSUPPORTED


@pytest.mark.rule("I-1")
def test_a_read_under_way_while_the_folder_is_closed_still_reads_that_folder(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = TaskFolder(root)
    really = os.stat
    reused: list[int] = []

    def closing(*args: object, **named: object) -> os.stat_result:
        if not reused:
            folder.close()
            # The next descriptor gets the number that the folder had.
            reused.append(os.open(tmp_path / "outside", os.O_RDONLY))
        return really(*args, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(os, "stat", closing)
    try:
        assert folder.read("pic.png") == PICTURE
    finally:
        os.close(reused[0])


@pytest.mark.rule("I-1")
def test_several_threads_read_at_once(folder: TaskFolder) -> None:
    got: list[bytes] = []

    def reading() -> None:
        got.extend(folder.read("sub/deep/../deep/pic.png") for _ in range(100))

    threads = [threading.Thread(target=reading) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert got == [PICTURE] * 400


# --- which folders ----------------------------------------------------------------------------


@pytest.mark.rule("I-1")
@pytest.mark.parametrize(
    "path",
    ["/proc", "/proc/self", "//proc/self", "/proc/self/cwd", "/dev", "/dev/./shm", "/tmp/../dev"],
)
def test_a_folder_under_proc_or_dev_is_refused(path: str) -> None:
    before = open_descriptors()
    with pytest.raises(ValueError, match=r"^a task's folder cannot lie under /proc or /dev$"):
        TaskFolder(path)
    assert open_descriptors() == before


@pytest.mark.rule("I-1")
def test_a_link_to_a_folder_under_proc_or_dev_is_refused(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("/proc/self/task")
    with pytest.raises(ValueError, match=r"^a task's folder cannot lie under /proc or /dev$"):
        TaskFolder(tmp_path / "link")


@pytest.mark.rule("I-1")
@pytest.mark.parametrize("path", ["", "nothing", "task/pic.png", "nu\0l"])
def test_what_is_no_folder_is_refused_with_a_sentence_that_does_not_name_it(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(
        ValueError, match=r"^a task's folder must be .* that can be opened$"
    ) as caught:
        TaskFolder(path)
    assert caught.value.__context__ is None


@pytest.mark.rule("I-1")
def test_a_folder_that_changes_while_it_is_opened_is_refused(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = os.stat(tmp_path / "outside")
    before = open_descriptors()
    with monkeypatch.context() as patch:
        patch.setattr(os, "stat", lambda *_args, **_named: other)
        with pytest.raises(ValueError, match=r"^the task's folder changed while it was opened$"):
            TaskFolder(root)
    assert open_descriptors() == before
