// Asks an MCP server over HTTP with the official TypeScript SDK: one JSON line in, one JSON line out.
//
// Knows nothing of Lore: one JSON argument names the server, the mode and the token. A line with a `name` calls that tool,
// one without lists the tools; what the SDK saw is printed, the errors of the protocol too.
// Mode "v1" is the SDK of the handshake era; "legacy" and "modern" are the two eras of the SDK after it.
import { createInterface } from "node:readline";

const plan = JSON.parse(process.argv.at(-1));

async function connect() {
  const info = { name: "lore-test", version: "1" };
  const options = { requestInit: { headers: { Authorization: `Bearer ${plan.token}` } } };
  if (plan.mode === "v1") {
    const { Client } = await import("@modelcontextprotocol/sdk/client/index.js");
    const { StreamableHTTPClientTransport } = await import("@modelcontextprotocol/sdk/client/streamableHttp.js");
    const client = new Client(info);
    const transport = new StreamableHTTPClientTransport(new URL(plan.url), options);
    await client.connect(transport);
    return { client, protocol: transport.protocolVersion };
  }
  const { Client, StreamableHTTPClientTransport } = await import("@modelcontextprotocol/client");
  const mode = plan.mode === "modern" ? { pin: "2026-07-28" } : plan.mode;
  const client = new Client(info, { versionNegotiation: { mode } });
  await client.connect(new StreamableHTTPClientTransport(new URL(plan.url), options));
  return { client, protocol: client.getNegotiatedProtocolVersion() };
}

async function ask(client, asked) {
  if (asked.name === undefined) {
    const { tools } = await client.listTools();
    return { tools: tools.map((tool) => tool.name) };
  }
  try {
    const result = await client.callTool(asked);
    return { is_error: result.isError === true, text: result.content[0].text };
  } catch (error) {
    if (typeof error.code !== "number") throw error;
    return { code: error.code, message: error.message };
  }
}

const { client, protocol } = await connect();
console.log(JSON.stringify({ protocol }));
for await (const line of createInterface({ input: process.stdin })) {
  console.log(JSON.stringify(await ask(client, JSON.parse(line))));
}
await client.close();
