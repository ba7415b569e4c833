"""``deska schema --write`` (P-8)."""

from __future__ import annotations

import os

import pytest

from deska_host._commands.files import write_whole
from deska_host.cli import main


@pytest.mark.rule("P-8")
def test_the_schema_is_written_into_a_file_as_it_is_printed(tmp_path, capsys):
    assert main(["schema"]) == 0
    printed = capsys.readouterr().out
    file = tmp_path / "panel.schema.json"
    for _ in range(2):
        assert main(["schema", "--write", str(file)]) == 0
        assert file.read_text() == printed
    assert capsys.readouterr().out == ""
    assert [path.name for path in tmp_path.iterdir()] == ["panel.schema.json"]


@pytest.mark.rule("P-8")
def test_a_file_that_cannot_be_written_is_said(tmp_path, capsys):
    assert main(["schema", "--write", str(tmp_path / "no" / "file")]) == 2
    assert main(["schema", "--write", str(tmp_path)]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.splitlines() == [
        f"deska schema: {tmp_path / 'no' / 'file'}: No such file or directory",
        f"deska schema: {tmp_path}: this is there, and is no file",
    ]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.rule("P-8", "K-12")
def test_what_is_no_file_is_never_replaced_by_one(tmp_path, capsys):
    pipe, link = tmp_path / "pipe", tmp_path / "link"
    os.mkfifo(pipe)
    link.symlink_to(pipe)
    for path in (pipe, link):
        assert main(["schema", "--write", str(path)]) == 2
        with pytest.raises(OSError, match="this is there, and is no file"):
            write_whole(path, b"")
    assert pipe.is_fifo()
    assert sorted(one.name for one in tmp_path.iterdir()) == ["link", "pipe"]
    assert "this is there, and is no file" in capsys.readouterr().err
