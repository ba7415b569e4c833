"""What a task's folder gives and what it refuses, on a quiet disk (I-1)."""

# The system calls themselves are what is looked at here.
# ruff: noqa: PTH116, PTH123, PTH211

from __future__ import annotations

import os
import socket
from typing import TYPE_CHECKING

import pytest

from deska_host.folder import TaskFolder
from deska_sdk.errors import AgentCode
from tests.host.support_folder import PICTURE, SECRET, make_root, open_descriptors, refusal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

pytestmark = pytest.mark.skipif(os.name != "posix", reason="the walk needs POSIX descriptors")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return make_root(tmp_path)


@pytest.fixture
def folder(root: Path) -> Iterator[TaskFolder]:
    with TaskFolder(root) as folder:
        yield folder


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
