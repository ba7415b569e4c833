"""The door for agents that speak MCP: the two tools of one task, in memory, on stdio or by HTTP.

::

    async with McpDoor(host, "task-1", "work/garden", supervisor=on_switch) as door:
        await host.person.connect("task-1", "nook", consent=fingerprint)
        async with door.http() as address:
            print(address.url, address.token)  # for the agent's client
            await host.serve()

It needs the extra ``mcp``. :mod:`deska_host` does not import it.
"""

from importlib.util import find_spec

if find_spec("mcp") is None:
    raise ImportError("deska_host.mcp needs the extra mcp: pip install 'deska-sdk[mcp]'")

from deska_host.mcp._address import PATH, HttpAddress
from deska_host.mcp._door import McpDoor
from deska_host.mcp._limits import DEFAULT_DOOR_LIMITS, DoorLimits
from deska_host.mcp._tools import Heard

__all__ = ["DEFAULT_DOOR_LIMITS", "PATH", "DoorLimits", "Heard", "HttpAddress", "McpDoor"]
