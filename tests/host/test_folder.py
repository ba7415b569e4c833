"""What a task's folder gives and what it refuses, on a quiet disk (I-1)."""

# The system calls themselves are what is looked at here.
# ruff: noqa: PTH116, PTH123, PTH208, PTH211

from __future__ import annotations

import errno
import os
import socket
import stat
import threading
from typing import TYPE_CHECKING

import pytest
from attrs import evolve

from deska_host import folder as folder_module
from deska_host.folder import TaskFolder
from deska_sdk.errors import AgentCode, Refused
from deska_sdk.limits import DEFAULT_LIMITS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

PICTURE = b"\x89PNG a picture of the garden"
SECRET = b"the key of the house"
SMALL = evolve(DEFAULT_LIMITS, image_bytes=len(PICTURE))

pytestmark = pytest.mark.skipif(os.name != "posix", reason="the walk needs POSIX descriptors")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """The task's folder, with a secret next to it."""
    inside = tmp_path / "task"
    (inside / "sub" / "deep").mkdir(parents=True)
    (inside / "pic.png").write_bytes(PICTURE)
    (inside / "sub" / "deep" / "pic.png").write_bytes(PICTURE)
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "pic.png").write_bytes(SECRET)
    return inside


@pytest.fixture
def folder(root: Path) -> Iterator[TaskFolder]:
    with TaskFolder(root) as folder:
        yield folder


def refusal(folder: TaskFolder, path: str) -> AgentCode:
    """The code of the refusal, which must say nothing but its sentence."""
    with pytest.raises(Refused) as caught:
        folder.read(path)
    assert type(caught.value) is Refused
    assert caught.value.__context__ is None
    assert caught.value.__cause__ is None
    assert str(caught.value) == str(Refused(caught.value.code))
    return AgentCode(caught.value.code)


def open_descriptors() -> list[str]:
    return sorted(os.listdir("/proc/self/fd"))


# --- what is inside ---------------------------------------------------------------------------


@pytest.mark.rule("I-1")
@pytest.mark.parametrize(
    "path",
    [
        "pic.png",
        "./pic.png",
        "sub/deep/pic.png",
        "sub//deep/./pic.png",
        "sub/../pic.png",
        "sub/deep/../../sub/deep/../deep/pic.png",
    ],
)
def test_a_path_that_stays_in_the_folder_gives_the_file(folder: TaskFolder, path: str) -> None:
    assert folder.read(path) == PICTURE


@pytest.mark.rule("I-1")
def test_an_absolute_path_counts_as_inside_under_the_given_and_the_resolved_folder(
    root: Path, tmp_path: Path
) -> None:
    given = tmp_path / "link-to-task"
    given.symlink_to(root)
    with TaskFolder(given) as folder:
        for base in (given, root.resolve()):
            assert folder.read(f"{base}/pic.png") == PICTURE
            assert folder.read(f"//{base}/./sub/../pic.png") == PICTURE
            assert refusal(folder, f"{base}") is AgentCode.IMAGE_UNSUPPORTED
            assert refusal(folder, f"{base}x/pic.png") is AgentCode.IMAGE_OUTSIDE_FOLDER


@pytest.mark.rule("I-1")
def test_a_folder_given_relative_to_where_the_host_runs_keeps_its_place(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with TaskFolder("./task") as folder:
        monkeypatch.chdir("/")
        assert folder.read("pic.png") == PICTURE
        assert folder.read(f"{root}/pic.png") == PICTURE


@pytest.mark.rule("I-1")
def test_links_that_stay_inside_are_followed(root: Path, tmp_path: Path) -> None:
    given = tmp_path / "link-to-task"
    given.symlink_to(root)
    (root / "file").symlink_to("sub/deep/pic.png")
    (root / "dir").symlink_to("sub/deep/")
    (root / "sub" / "up").symlink_to("../pic.png")
    (root / "by-given").symlink_to(given / "pic.png")
    (root / "by-resolved").symlink_to(root.resolve() / "sub" / "deep")
    (root / "sub" / "deep" / "down").symlink_to(root.resolve() / "sub")
    (root / "to-itself").symlink_to(".")
    with TaskFolder(given) as folder:
        for path in (
            "file",
            "dir/pic.png",
            "sub/up",
            "by-given",
            "by-resolved/pic.png",
            "sub/deep/down/deep/pic.png",
            "to-itself/to-itself/dir/pic.png",
        ):
            assert folder.read(path) == PICTURE


@pytest.mark.rule("I-1")
def test_two_dots_after_a_link_mean_the_parent_of_what_it_leads_to(
    root: Path, folder: TaskFolder
) -> None:
    (root / "sub" / "here.png").write_bytes(b"in sub")
    (root / "dir").symlink_to("sub/deep")
    assert folder.read("dir/../here.png") == b"in sub"
    assert refusal(folder, "dir/../pic.png") is AgentCode.IMAGE_NOT_FOUND


@pytest.mark.rule("I-1")
def test_a_name_that_is_not_utf_8_can_stand_behind_a_link(root: Path, folder: TaskFolder) -> None:
    raw = os.fsencode(root) + b"/\xff.png"
    with open(raw, "wb") as file:
        file.write(PICTURE)
    os.symlink(b"\xff.png", os.fsencode(root) + b"/link")
    assert folder.read("link") == PICTURE


@pytest.mark.rule("I-1")
def test_forty_links_are_followed_and_one_more_is_not(root: Path, folder: TaskFolder) -> None:
    (root / "l0").symlink_to("pic.png")
    for number in range(1, 41):
        (root / f"l{number}").symlink_to(f"l{number - 1}")
    assert folder.read("l39") == PICTURE
    assert refusal(folder, "l40") is AgentCode.IMAGE_NOT_FOUND


@pytest.mark.rule("I-1")
def test_links_in_a_circle_are_not_found(root: Path, folder: TaskFolder) -> None:
    (root / "ping").symlink_to("pong")
    (root / "pong").symlink_to("ping")
    (root / "grow").symlink_to("grow/grow/grow")
    assert refusal(folder, "ping") is AgentCode.IMAGE_NOT_FOUND
    assert refusal(folder, "grow") is AgentCode.IMAGE_NOT_FOUND


@pytest.mark.rule("I-1")
def test_a_path_made_to_cost_time_ends_after_a_bounded_number_of_looks(
    root: Path, folder: TaskFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = 0
    really = {"open": os.open, "stat": os.stat}

    def counting(name: str) -> Callable[..., object]:
        def call(*args: object, **named: object) -> object:
            nonlocal calls
            calls += 1
            return really[name](*args, **named)  # type: ignore[operator]

        return call

    deep = "d/" * 500
    (root / deep).mkdir(parents=True)
    # Every way up is a way down again from the root: these are 300,000 names to look at.
    path = deep + "../d/" * 600 + "pic.png"
    for name in really:
        monkeypatch.setattr(os, name, counting(name))
    assert refusal(folder, path) is AgentCode.IMAGE_NOT_FOUND
    # Each step is one look, or one look and one opening.
    assert 20_000 <= calls <= 40_000


@pytest.mark.rule("I-1")
def test_hard_links_are_read_like_any_file(root: Path, folder: TaskFolder, tmp_path: Path) -> None:
    (root / "hard.png").hardlink_to(tmp_path / "outside" / "pic.png")
    assert folder.read("hard.png") == SECRET


@pytest.mark.rule("I-1")
def test_the_held_folder_is_read_and_not_one_that_took_its_name(
    root: Path, folder: TaskFolder, tmp_path: Path
) -> None:
    root.rename(tmp_path / "moved")
    (tmp_path / "outside").rename(root)
    assert folder.read("pic.png") == PICTURE
    assert folder.read(f"{root}/pic.png") == PICTURE


# --- what leaves ------------------------------------------------------------------------------


@pytest.mark.rule("I-1")
@pytest.mark.parametrize(
    "path",
    [
        "..",
        "../outside/pic.png",
        "../outside/nothing.png",
        "sub/../../outside/pic.png",
        "sub/deep/../../../task/pic.png",
        "../task/pic.png",
        "nothing/../../outside/pic.png",
        "pic.png/../../outside/pic.png",
        "/etc/passwd",
        "/nothing/at/all",
        "/proc/self/environ",
    ],
)
def test_a_path_that_leaves_is_outside_even_if_it_returns_or_leads_to_nothing(
    folder: TaskFolder, path: str
) -> None:
    assert refusal(folder, path) is AgentCode.IMAGE_OUTSIDE_FOLDER


@pytest.mark.rule("I-1")
def test_an_absolute_path_that_goes_above_the_folder_is_outside(
    root: Path, folder: TaskFolder
) -> None:
    for path in (f"{root}/../task/pic.png", f"{root.parent}/./outside/pic.png", f"{root.parent}"):
        assert refusal(folder, path) is AgentCode.IMAGE_OUTSIDE_FOLDER


@pytest.mark.rule("I-1")
@pytest.mark.parametrize(
    "target",
    [
        "../outside",
        "{up}/outside",
        "../nothing",
        "{up}/nothing",
        "../task/sub",
        "{root}/../task/sub",
    ],
)
def test_a_link_that_leaves_is_outside_even_if_it_returns_or_leads_to_nothing(
    root: Path, folder: TaskFolder, target: str
) -> None:
    (root / "dir").symlink_to(target.format(root=root, up=root.parent))
    (root / "inner").symlink_to("dir")
    for path in ("dir", "dir/pic.png", "inner/deep/pic.png", "sub/../inner/pic.png"):
        assert refusal(folder, path) is AgentCode.IMAGE_OUTSIDE_FOLDER


# --- what is not there ------------------------------------------------------------------------


@pytest.mark.rule("I-1")
@pytest.mark.parametrize(
    "path",
    [
        "",
        "\0",
        "pic.png\0",
        "../\0",
        "\ud800",
        "pic\udcff.png",
        "pic.png/",
        "sub/",
        "/",
        "nothing.png",
        "sub/nothing/pic.png",
        "pic.png/.",
        "pic.png/..",
        "pic.png/pic.png",
        "n" * 300,
        "sub/" * 1025,
    ],
)
def test_a_path_to_nothing_is_not_found(folder: TaskFolder, path: str) -> None:
    assert refusal(folder, path) is AgentCode.IMAGE_NOT_FOUND


@pytest.mark.rule("I-1")
def test_a_link_that_wants_a_folder_where_a_file_is_finds_nothing(
    root: Path, folder: TaskFolder
) -> None:
    (root / "link").symlink_to("pic.png/")
    assert refusal(folder, "link") is AgentCode.IMAGE_NOT_FOUND


@pytest.mark.rule("I-1")
def test_a_path_of_4096_characters_is_read_and_one_more_is_not(folder: TaskFolder) -> None:
    path = "/".join(["."] * 2044) + "//pic.png"
    assert len(path) == 4096
    assert folder.read(path) == PICTURE
    assert refusal(folder, "./" + path[1:]) is AgentCode.IMAGE_NOT_FOUND


# --- what is no file --------------------------------------------------------------------------


@pytest.mark.rule("I-1")
@pytest.mark.parametrize("path", [".", "sub", "sub/deep", "sub/.", "sub/..", "dir-link"])
def test_a_folder_is_unsupported(root: Path, folder: TaskFolder, path: str) -> None:
    (root / "dir-link").symlink_to("sub/")
    assert refusal(folder, path) is AgentCode.IMAGE_UNSUPPORTED


@pytest.mark.rule("I-1")
def test_a_fifo_and_a_socket_are_unsupported_and_nothing_waits_for_them(
    root: Path, folder: TaskFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.mkfifo(root / "fifo")
    monkeypatch.chdir(root)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("socket")
    for path in ("fifo", "socket"):
        assert refusal(folder, path) is AgentCode.IMAGE_UNSUPPORTED
        assert refusal(folder, f"{path}/pic.png") is AgentCode.IMAGE_NOT_FOUND


@pytest.mark.rule("I-1")
def test_a_file_that_turned_into_a_fifo_after_the_look_at_it_is_unsupported(
    root: Path, folder: TaskFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.mkfifo(root / "fifo")
    old = os.stat(root / "pic.png")
    monkeypatch.setattr(os, "stat", lambda *_args, **_named: old)
    before = open_descriptors()
    assert refusal(folder, "fifo") is AgentCode.IMAGE_UNSUPPORTED
    assert open_descriptors() == before


@pytest.mark.rule("I-1")
@pytest.mark.parametrize(
    ("kind", "seen"), [("file", "folder"), ("link", "file"), ("link", "folder")]
)
def test_a_name_that_is_always_something_else_than_a_moment_ago_ends_as_not_found(
    root: Path, folder: TaskFolder, monkeypatch: pytest.MonkeyPatch, kind: str, seen: str
) -> None:
    (root / "link").symlink_to("../outside/pic.png")
    looks = {"file": os.stat(root / "pic.png"), "folder": os.stat(root / "sub")}
    monkeypatch.setattr(os, "stat", lambda *_args, **_named: looks[seen])
    before = open_descriptors()
    path = "pic.png" if kind == "file" else "link"
    assert refusal(folder, path) is AgentCode.IMAGE_NOT_FOUND
    assert open_descriptors() == before


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
