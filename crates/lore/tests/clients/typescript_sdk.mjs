// Drives an MCP server with the official TypeScript SDK and prints what the SDK saw, as JSON.
//
// Knows nothing of Lore: one JSON argument names the server, the mode and the calls; the test that starts it compares.
// Mode "v1" is the SDK of the handshake era; "legacy" and "modern" are the two eras of the SDK after it.

const plan = JSON.parse(process.argv.at(-1));

async function connect() {
  const info = { name: "lore-test", version: "1" };
  const server = { command: plan.command, args: plan.args, env: plan.env };
  if (plan.mode === "v1") {
    const { Client } = await import("@modelcontextprotocol/sdk/client/index.js");
    const { StdioClientTransport } = await import("@modelcontextprotocol/sdk/client/stdio.js");
    const client = new Client(info);
    const transport = new StdioClientTransport(server);
    let protocol;
    transport.setProtocolVersion = (version) => (protocol = version);
    await client.connect(transport);
    return { client, protocol };
  }
  const { Client } = await import("@modelcontextprotocol/client");
  const { StdioClientTransport } = await import("@modelcontextprotocol/client/stdio");
  const mode = plan.mode === "modern" ? { pin: "2026-07-28" } : plan.mode;
  const client = new Client(info, { versionNegotiation: { mode } });
  await client.connect(new StdioClientTransport(server));
  return { client, protocol: client.getNegotiatedProtocolVersion() };
}

const { client, protocol } = await connect();
const { tools } = await client.listTools();
const answers = [];
for (const call of plan.calls) {
  const result = await client.callTool(call);
  answers.push({
    is_error: result.isError === true,
    text: result.content[0].text,
    structured: result.structuredContent ?? null,
    meta: result._meta ?? null,
  });
}
const seen = {
  protocol,
  server: client.getServerVersion()?.name,
  instructions: client.getInstructions(),
  tools: tools.map((tool) => tool.name),
  read_only: tools.map((tool) => tool.annotations?.readOnlyHint === true),
  answers,
};
await client.close();
console.log(JSON.stringify(seen));
