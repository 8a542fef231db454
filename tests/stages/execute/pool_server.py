"""A server of the small pool, run inside a sandbox with the standard library alone.

`pool_server NAME` has one tool, NAME_write, which writes a text file of the workspace.
"""

import json
import sys

TOOL = {
    "name": f"{sys.argv[1]}_write",
    "description": "Write a text file.",
    "inputSchema": {
        "type": "object",
        "properties": {"path": {"type": "string"}, "text": {"type": "string"}},
        "required": ["path", "text"],
    },
}


def answer(method: str, params: dict[str, object]) -> dict[str, object] | None:
    """Return the result of a request, None if there is no such method."""
    if method == "initialize":
        return {
            "protocolVersion": "2025-06-18",
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "pool", "version": "1"},
        }
    if method == "tools/list":
        return {"tools": [TOOL]}
    if method != "tools/call":
        return None
    arguments = params["arguments"]
    with open(arguments["path"], "w") as file:
        file.write(arguments["text"])
    return {"content": [{"type": "text", "text": "written"}]}


if __name__ == "__main__":
    for line in sys.stdin:
        request = json.loads(line)
        if "id" in request:
            result = answer(request["method"], request.get("params", {}))
            reply = {"jsonrpc": "2.0", "id": request["id"], "result": result}
            if result is None:
                del reply["result"]
                reply["error"] = {"code": -32601, "message": "no such method"}
            sys.stdout.write(json.dumps(reply) + "\n")
            sys.stdout.flush()
