"""A server of a pool: tells what it was started with, and writes into the workspace."""

import json
import os
import sys
from pathlib import Path

import book

TOOLS = [
    {"name": "about", "description": "How it was started.", "inputSchema": {"type": "object"}},
    {
        "name": "enter",
        "description": "Write an entry into the workspace.",
        "inputSchema": {
            "type": "object",
            "properties": {"text": {"type": "string"}},
            "required": ["text"],
        },
    },
]


def call(name, arguments):
    if name == "enter":
        book.enter(Path(sys.argv[1]), arguments["text"])
        return "entered"
    started = {
        "arguments": sys.argv[1:],
        "folder": os.getcwd(),
        "variables": {k: v for k, v in os.environ.items() if k.startswith(("PG", "LEDGER"))},
        "python": sys.prefix,
        "config": Path(sys.argv[2]).read_text() if Path(sys.argv[2]).is_file() else None,
        "source_can_change": os.access(__file__, os.W_OK),
    }
    return json.dumps(started)


def answer(request):
    if request["method"] == "initialize":
        return {
            "protocolVersion": "2025-06-18",
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "ledger", "version": "1"},
        }
    if request["method"] == "tools/list":
        return {"tools": TOOLS}
    if request["method"] != "tools/call":
        return None
    text = call(request["params"]["name"], request["params"].get("arguments", {}))
    return {"content": [{"type": "text", "text": text}]}


for line in sys.stdin:
    request = json.loads(line)
    if "id" in request:
        result = answer(request)
        said = {"result": result} if result else {"error": {"code": -32601, "message": "unknown"}}
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": request["id"], **said}) + "\n")
        sys.stdout.flush()
