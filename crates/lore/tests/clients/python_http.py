"""Asks an MCP server over HTTP with the official Python SDK: one JSON line in, one JSON line out.

Knows nothing of Lore: one JSON argument names the server, the mode and the token. A line with a `name` calls that tool,
one without lists the tools; what the SDK saw is printed, the errors of the protocol too.
"""

import asyncio
import json
import sys

from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client
from mcp.shared.exceptions import MCPError


async def ask(client, asked):
    if asked.get("name") is None:
        return {"tools": [tool.name for tool in (await client.list_tools()).tools]}
    try:
        result = await client.call_tool(asked["name"], asked["arguments"])
    except MCPError as error:
        return {"code": error.code, "message": error.message}
    return {"is_error": bool(result.is_error), "text": result.content[0].text}


async def main(plan):
    headers = {"Authorization": f"Bearer {plan['token']}"}
    async with create_mcp_http_client(headers=headers) as http:
        transport = streamable_http_client(plan["url"], http_client=http)
        async with Client(transport, mode=plan["mode"], read_timeout_seconds=120) as client:
            print(json.dumps({"protocol": client.protocol_version}), flush=True)
            while line := await asyncio.to_thread(sys.stdin.readline):
                print(json.dumps(await ask(client, json.loads(line))), flush=True)


asyncio.run(main(json.loads(sys.argv[1])))
