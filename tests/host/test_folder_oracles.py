"""Random trees and links, judged by the kernel and by us (I-1)."""

# The system calls themselves are what is looked at here.
# ruff: noqa: PTH118, PTH123

from __future__ import annotations

import ctypes
import errno
import os
import stat
import struct
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deska_host.folder import TaskFolder
from deska_sdk.errors import AgentCode, Refused

NAMES = ("a", "b")
_OPENAT2 = 437
_BENEATH = 0x08 | 0x02  # RESOLVE_BENEATH, RESOLVE_NO_MAGICLINKS


def paths(*words: str, most: int = 6) -> st.SearchStrategy[str]:
    return st.lists(st.sampled_from(words), min_size=1, max_size=most).map("/".join)


def trees(targets: st.SearchStrategy[str]) -> st.SearchStrategy[dict[str, str | None]]:
    """For each of a few places: a folder (None), a link to a target, or a file."""
    what = st.one_of(st.none(), st.none(), targets, st.just("FILE"))
    return st.dictionaries(paths(*NAMES, most=3), what, min_size=3, max_size=12)


def grow(root: Path, tree: dict[str, str | None]) -> None:
    """Put the tree on the disk, shortest places first; what no longer fits is left out."""
    for place, what in sorted(tree.items(), key=lambda item: (item[0].count("/"), item[0])):
        path = root / place
        # Made only below real folders, so that no link is written through.
        if any(parent.is_symlink() or parent.is_file() for parent in path.parents):
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        if os.path.lexists(path):
            continue
        if what is None:
            path.mkdir()
        elif what == "FILE":
            path.write_bytes(f"inside {place}".encode())
        else:
            path.symlink_to(what.replace("ROOT", os.fspath(root)))


def ours(folder: TaskFolder, path: str) -> bytes | AgentCode:
    try:
        return folder.read(path)
    except Refused as refusal:
        return AgentCode(refusal.code)


def kernel_beneath(root: int, path: str) -> bytes | AgentCode | int:
    """What ``openat2`` with RESOLVE_BENEATH finds; an error number for "nothing there"."""
    library = ctypes.CDLL(None, use_errno=True)
    how = struct.pack("QQQ", os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK, 0, _BENEATH)
    while True:
        descriptor = library.syscall(_OPENAT2, root, os.fsencode(path), how, len(how))
        # EAGAIN: some rename anywhere on the system met a ".." here.
        if descriptor >= 0 or ctypes.get_errno() != errno.EAGAIN:
            break
    if descriptor < 0:
        number = ctypes.get_errno()
        return AgentCode.IMAGE_OUTSIDE_FOLDER if number == errno.EXDEV else number
    if stat.S_ISDIR(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        return AgentCode.IMAGE_UNSUPPORTED
    with open(descriptor, "rb") as file:
        return file.read()


def _has_openat2() -> bool:
    try:
        root = os.open("/", os.O_RDONLY | os.O_CLOEXEC)
        found = kernel_beneath(root, ".")
        os.close(root)
    except (OSError, AttributeError):
        return False
    return found is AgentCode.IMAGE_UNSUPPORTED


@pytest.mark.rule("I-1")
@pytest.mark.skipif(not _has_openat2(), reason="this kernel has no openat2")
@settings(max_examples=120, deadline=None)
@given(
    tree=trees(paths(*NAMES, "..", ".", most=4)),
    wanted=st.lists(paths(*NAMES, "..", "."), min_size=1, max_size=8),
)
def test_relative_links_and_two_dots_are_judged_as_the_kernel_judges_a_walk_beneath(
    tree: dict[str, str | None], wanted: list[str]
) -> None:
    with tempfile.TemporaryDirectory() as base:
        root = Path(base) / "task"
        root.mkdir()
        grow(root, tree)
        descriptor = os.open(root, os.O_RDONLY | os.O_CLOEXEC)
        try:
            with TaskFolder(root) as folder:
                for path in wanted:
                    theirs = kernel_beneath(descriptor, path)
                    mine = ours(folder, path)
                    if isinstance(theirs, int):
                        assert theirs in {errno.ENOENT, errno.ENOTDIR, errno.ELOOP}
                        allowed = {AgentCode.IMAGE_NOT_FOUND}
                        if any(".." in text for text in (path, *filter(None, tree.values()))):
                            # Outside also counts behind a name that is not there.
                            allowed.add(AgentCode.IMAGE_OUTSIDE_FOLDER)
                        assert mine in allowed
                    else:
                        assert mine == theirs
        finally:
            os.close(descriptor)


@pytest.mark.rule("I-1")
@settings(max_examples=100, deadline=None)
@given(
    tree=trees(
        st.tuples(st.sampled_from(["", "", "ROOT/", "ROOT/../link/"]), paths(*NAMES, ".")).map(
            "".join
        )
    ),
    wanted=st.lists(paths(*NAMES, "."), min_size=1, max_size=8),
    through_link=st.booleans(),
)
def test_where_nothing_leaves_the_kernel_and_the_folder_read_the_same(
    tree: dict[str, str | None], wanted: list[str], through_link: bool
) -> None:
    with tempfile.TemporaryDirectory() as base:
        root = Path(base).resolve() / "task"
        link = root.parent / "link"
        root.mkdir()
        link.symlink_to("task")
        # "ROOT/../link" names the folder as it was given.
        tree = {
            place: what and what.replace("ROOT/../link", os.fspath(link if through_link else root))
            for place, what in tree.items()
        }
        grow(root, tree)
        with TaskFolder(link if through_link else root) as folder:
            for path in wanted:
                found = ours(folder, path)
                try:
                    with open(f"{root}/{path}", "rb") as file:
                        expected: bytes | AgentCode = file.read()
                except IsADirectoryError:
                    expected = AgentCode.IMAGE_UNSUPPORTED
                except OSError:
                    expected = AgentCode.IMAGE_NOT_FOUND
                assert found == expected
                for prefix in {root, link} if through_link else {root}:
                    assert ours(folder, f"{prefix}/{path}") == found


@pytest.mark.rule("I-1")
@settings(max_examples=100, deadline=None)
@given(
    tree=trees(
        st.tuples(
            st.sampled_from(["", "ROOT/", "ROOT/../", "ROOT/../outside/", "/"]),
            paths(*NAMES, "..", ".", "outside", "task"),
        ).map("".join)
    ),
    wanted=st.lists(
        st.tuples(
            st.sampled_from(["", "", "ROOT/", "ROOT/../outside/"]),
            paths(*NAMES, "..", ".", "outside", "task"),
        ).map("".join),
        min_size=1,
        max_size=8,
    ),
)
def test_whatever_is_read_is_really_inside_and_what_is_outside_is_never_read(
    tree: dict[str, str | None], wanted: list[str]
) -> None:
    with tempfile.TemporaryDirectory() as base:
        root = Path(base).resolve() / "task"
        outside = root.parent / "outside"
        for folder in (root, outside, outside / "b", outside / "task"):
            folder.mkdir()
        for place in ("a", "b/a", "b/b", "task/a"):
            (outside / place).write_bytes(b"SECRET")
        (root.parent / "a").write_bytes(b"SECRET")
        grow(root, tree)
        with TaskFolder(root) as held:
            for path in wanted:
                asked = path.replace("ROOT", os.fspath(root))
                found = ours(held, asked)
                real = os.path.realpath(os.path.join(root, asked))
                if isinstance(found, bytes):
                    assert real.startswith(f"{root}/")
                    assert found == Path(real).read_bytes()
                elif not f"{real}/".startswith(f"{root}/"):
                    # Off the folder by the kernel's reading; a circle resolves to itself.
                    assert found in {AgentCode.IMAGE_OUTSIDE_FOLDER, AgentCode.IMAGE_NOT_FOUND}
