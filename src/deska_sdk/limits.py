"""Every number of the contract, named once, next to the sentence that sets it.

Pass another :class:`Limits` wherever one is taken::

    from attrs import evolve
    from deska_sdk import DEFAULT_LIMITS, check_panel

    report = check_panel(text, limits=evolve(DEFAULT_LIMITS, actions=4))

Sizes are bytes, lengths are Unicode code points, times are seconds, unless a name says otherwise.
"""

from __future__ import annotations

from attrs import fields, frozen

MB = 1_048_576


@frozen(kw_only=True)
class Limits:
    """The limits of one embedding. The defaults are the contract's own numbers."""

    # P-1: one panel.json
    manifest_bytes: int = 262_144
    json_nesting: int = 64
    integer_digits: int = 20
    # P-2: its keys
    panel_id: int = 64
    panel_name: int = 80
    panel_description: int = 300
    author: int = 80
    # P-4: its actions
    actions: int = 16
    action_name: int = 64
    action_description: int = 300
    # P-7: how much of an offending value a problem quotes
    quoted: int = 64

    # D-1, D-2, D-3, D-5: the schema dialect
    schema_levels: int = 4
    token: int = 40
    max_length: int = 262_144
    max_items: int = 1_000
    properties: int = 64
    enum_values: int = 256
    schema_description: int = 200
    # D-7: how many faults are told at once
    faults: int = 8
    # D-11: the JSON text of a call
    call_text: int = 262_144

    # L-3: the list of panels, in bytes of UTF-8
    list_bytes: int = 8_192

    # deadlines
    preparing_seconds: float = 10.0
    waiting_seconds: float = 30.0
    finishing_images_seconds: float = 10.0
    switching_seconds: float = 5.0
    # calls a page keeps until its first listener
    buffered_calls: int = 16
    # what one panel may have open
    open_calls_per_connection: int = 64
    open_calls_per_panel: int = 256
    image_bytes_per_panel: int = 128 * MB

    # W-1: a write's revision
    revision: int = 64
    # revisions kept, and numbers reserved at a time
    revisions_kept: int = 256
    counter_block: int = 64

    # N-4: an answer, as sent and as escaped
    answer: int = 65_536

    # O-1: what a page may offer
    offer_text: int = 10_000
    offer_images: int = 6

    # I-1, I-3, I-4, I-5, I-6: images
    image_path: int = 4_096
    image_bytes: int = 10 * MB
    image_pixels: int = 50_000_000
    image_side: int = 2_048
    images: int = 10
    png_bytes: int = 64 * MB
    decode_seconds: float = 5.0
    decode_memory_bytes: int = 1_024 * MB
    worker_idle_seconds: float = 30.0

    # G-3: what a page keeps
    storage_bytes: int = 5 * MB
    files_bytes: int = 200 * MB
    file_bytes: int = 10 * MB

    def __attrs_post_init__(self) -> None:
        """A limit that is none would hold nothing.

        :raises ValueError: a number is negative, not finite, beyond 2^53 − 1, or of another type.
        """
        for field in fields(Limits):
            value = getattr(self, field.name)
            whole = type(field.default) is int
            right = type(value) is int or (type(value) is float and not whole)
            if not right or not 0 <= value < 2**53:
                raise ValueError(f"the limit {field.name} is no number that can be one")


DEFAULT_LIMITS = Limits()
