"""What an annotation says beside its type, in the words of the dialect (section "schemas").

::

    Title = Annotated[str, MaxLength(80), Description("One line.")]

A mark only carries its value. Whether the value is one that the dialect allows is judged where
the schema is made, by the rules that hold for every panel.json (D-3, D-4, D-5).
"""

from __future__ import annotations

from typing import TypeAlias

from attrs import field, frozen

from deska_sdk.limits import DEFAULT_LIMITS


@frozen
class MaxLength:
    """At most this many code points: for ``str`` (D-3)."""

    limit: int


@frozen
class MaxItems:
    """At most this many items: for ``list`` (D-3)."""

    limit: int


@frozen
class Minimum:
    """The smallest number allowed: for ``int`` and ``float`` (D-3)."""

    bound: int | float


@frozen
class Maximum:
    """The largest number allowed: for ``int`` and ``float`` (D-3)."""

    bound: int | float


@frozen
class Description:
    """A note for who reads panel.json; 1 to 200 code points. It never reaches an agent (D-5)."""

    text: str = field(repr=False)


@frozen
class DeskaImage:
    """In an input: the agent gives a path of at most ``max_length``, the page gets a Blob (I-2).

    The annotated type is the Blob's class: ``Annotated[Blob, DeskaImage(max_length=1000)]``.
    """

    max_length: int = DEFAULT_LIMITS.image_path


@frozen
class DeskaFile:
    """In an output: a ``str`` that is the id of an image the panel keeps (I-4).

    Such an id has 36 characters, so less than that is refused (D-4).
    """

    max_length: int = 36


Mark: TypeAlias = MaxLength | MaxItems | Minimum | Maximum | Description | DeskaImage | DeskaFile
