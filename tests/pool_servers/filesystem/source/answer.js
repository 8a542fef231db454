import { readdirSync } from "node:fs";

const tools = [{ name: "list", description: "List the workspace.", inputSchema: { type: "object" } }];

export function answer(request) {
  if (request.method === "initialize")
    return {
      protocolVersion: "2025-06-18",
      capabilities: { tools: {} },
      serverInfo: { name: "filesystem", version: "1" },
    };
  if (request.method === "tools/list") return { tools };
  if (request.method !== "tools/call") return null;
  return { content: [{ type: "text", text: readdirSync(process.argv[2]).join(" ") }] };
}
