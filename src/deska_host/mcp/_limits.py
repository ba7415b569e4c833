"""Every number of the door, once (M-12)."""

from attrs import fields, frozen

MB = 1_048_576


@frozen
class DoorLimits:
    """What a client may ask of the door. Sizes are in bytes, times in seconds.

    :raises ValueError: a number is not positive, not finite, or of another type.
    """

    #: One message of a client: a line on stdio, the body of a request by HTTP.
    message_bytes: int = 4 * MB
    #: A request line and its headers.
    header_bytes: int = 16_384
    #: How long headers, and then a body, may take to come in.
    header_seconds: float = 10.0
    body_seconds: float = 10.0
    #: How long a connection with nothing to do stays open.
    idle_seconds: int = 30
    #: How long it does when others wait for its place.
    crowd_seconds: float = 1.0
    #: Connections at once, and requests with the right token at once, open streams among them.
    connections: int = 512
    requests: int = 128
    #: The bodies of all requests under way, together.
    bodies_bytes: int = 32 * MB
    #: Sessions of the handshake era at once, and how long one without a request stays.
    sessions: int = 256
    session_seconds: float = 1_800.0
    #: How long the last words to a client may take when it, or the door, is leaving.
    farewell_seconds: float = 1.0

    def __attrs_post_init__(self) -> None:
        for field in fields(DoorLimits):
            value = getattr(self, field.name)
            whole = type(field.default) is int
            right = type(value) is int or (type(value) is float and not whole)
            if not right or not 0 < value < 2**53:
                raise ValueError(f"the limit {field.name} is no number that can be one")


DEFAULT_DOOR_LIMITS = DoorLimits()
