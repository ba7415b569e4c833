"""``deska schema --write`` (P-8)."""

from __future__ import annotations

import pytest

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
        f"deska schema: {tmp_path}: Is a directory",
    ]
    assert list(tmp_path.iterdir()) == []
