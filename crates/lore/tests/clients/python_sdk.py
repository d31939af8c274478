"""Drives an MCP server with the official Python SDK and prints what the SDK saw, as JSON.

Knows nothing of Lore: one JSON argument names the server, the mode and the calls; the test that starts it compares.
"""

import asyncio
import json
import sys

from mcp import Client, StdioServerParameters


async def main(plan):
    server = StdioServerParameters(command=plan["command"], args=plan["args"], env=plan["env"])
    async with Client(server, mode=plan["mode"], read_timeout_seconds=30) as client:
        tools = (await client.list_tools()).tools
        answers = []
        for call in plan["calls"]:
            result = await client.call_tool(call["name"], call["arguments"])
            answers.append(
                {
                    "is_error": bool(result.is_error),
                    "text": result.content[0].text,
                    "structured": result.structured_content,
                    "meta": result.meta,
                }
            )
        return {
            "protocol": client.protocol_version,
            "server": client.server_info and client.server_info.name,
            "instructions": client.instructions,
            "tools": [tool.name for tool in tools],
            "read_only": [bool(tool.annotations.read_only_hint) for tool in tools],
            "answers": answers,
        }


print(json.dumps(asyncio.run(main(json.loads(sys.argv[1])))))
