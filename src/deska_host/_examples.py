"""The example panels that travel with the package."""

from __future__ import annotations

from pathlib import Path


def example_folder(name: str) -> Path:
    """Where an example panel is: in the installed package, or in the source tree.

    :raises FileNotFoundError: it is in neither.
    """
    here = Path(__file__).parent
    for folder in (here / f"_{name}", here.parents[1] / "examples" / name):
        if (folder / "panel.json").is_file():
            return folder
    raise FileNotFoundError(2, "this example is not part of the installation")
