"""Subscribes to a resource with the official Python SDK, causes changes of it, and prints how soon it hears of each.

Knows nothing of Lore: one JSON argument names the server, the mode, the resource and the commands that change it. What
is printed, as JSON, is the protocol that was spoken, the resources that were told to have changed, and the milliseconds
from the end of each command until then (less than none where it was told before the command had ended).
"""

import asyncio
import json
import sys
import time
import warnings

from mcp import Client, StdioServerParameters

# Ways of the handshake era are deprecated, and tested here all the same.
warnings.simplefilter("ignore")


async def main(plan):
    server = StdioServerParameters(command=plan["command"], args=plan["args"], env=plan["env"], cwd=plan["cwd"])
    is_legacy = plan["mode"] == "legacy"
    heard = asyncio.Queue()

    async def on_message(message):
        # A stream of the later era gives its events itself, and shows them here as well.
        if is_legacy and getattr(message, "method", None) == "notifications/resources/updated":
            heard.put_nowait((time.monotonic(), str(message.params.uri)))

    async def on_event(subscription):
        async for event in subscription:
            heard.put_nowait((time.monotonic(), str(event.uri)))

    async def cause_changes():
        uris, took = [], []
        for command in plan["changes"]:
            child = await asyncio.create_subprocess_exec(*command, env=plan["env"], cwd=plan["cwd"], stdout=-3)
            assert await child.wait() == 0, command
            returned = time.monotonic()
            at, uri = await asyncio.wait_for(heard.get(), timeout=60)
            uris.append(uri)
            took.append((at - returned) * 1000)
        return {"protocol": client.protocol_version, "uris": uris, "took_ms": took}

    async with Client(server, mode=plan["mode"], read_timeout_seconds=30, message_handler=on_message) as client:
        if is_legacy:
            await client.subscribe_resource(plan["uri"])
            seen = await cause_changes()
            await client.unsubscribe_resource(plan["uri"])
        else:
            async with client.listen(resource_subscriptions=[plan["uri"]]) as subscription:
                events = asyncio.create_task(on_event(subscription))
                seen = await cause_changes()
                events.cancel()
        return seen


print(json.dumps(asyncio.run(main(json.loads(sys.argv[1])))))
