import { createInterface } from "node:readline";
import { answer } from "./answer.js";

for await (const line of createInterface({ input: process.stdin })) {
  const request = JSON.parse(line);
  if (request.id === undefined) continue;
  const result = answer(request);
  const said = result ? { result } : { error: { code: -32601, message: "unknown" } };
  process.stdout.write(JSON.stringify({ jsonrpc: "2.0", id: request.id, ...said }) + "\n");
}
