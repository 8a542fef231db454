"""Our tools as an MCP server inside a sandbox: `python -m environments.mcp.inside TOOL ...`.

The module implements the protocol's messages itself, because a sandbox's Python may not have the
SDK. Each call runs in a process of its own, so that a tool killed at a limit does not end the
server.
"""

import json
import subprocess
import sys
import threading
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from pydantic import ValidationError

from environments.tool_runtime.registry import definition
from environments.tool_runtime.worker import READY
from environments.toolkit.definition import ToolDefinition
from taskdata.schema.tool import ToolErrorKind, ToolResult

MAX_CALLS_AT_ONCE = 2

_WORKER = "environments.tool_runtime.worker"
_VERSION = "2025-06-18"
_NO_METHOD, _BAD_PARAMETERS = -32601, -32602

Tools = Mapping[str, ToolDefinition[Any]]


class Refused(Exception):
    """A request that the protocol answers with an error: its code, and why."""


def main() -> int:
    """Serve the named tools on the standard streams until the input ends; returns the exit code."""
    tools = {name: definition(name) for name in sys.argv[1:]}
    writing = threading.Lock()

    def serve(request: Mapping[str, Any]) -> None:
        reply: dict[str, Any] = {"jsonrpc": "2.0", "id": request["id"]}
        try:
            reply["result"] = answer(tools, request)
        except Refused as exc:
            code, message = exc.args
            reply["error"] = {"code": code, "message": message}
        with writing:
            sys.stdout.write(json.dumps(reply) + "\n")
            sys.stdout.flush()

    with ThreadPoolExecutor(MAX_CALLS_AT_ONCE) as calls:
        for line in sys.stdin:
            message = json.loads(line)
            if "method" not in message or "id" not in message:
                continue
            if message["method"] == "tools/call":
                calls.submit(serve, message)
            else:
                serve(message)
    return 0


def answer(tools: Tools, request: Mapping[str, Any]) -> dict[str, Any]:
    """Return the result of a request.

    Raises:
        Refused: there is no such method or tool.
    """
    method, params = request["method"], request.get("params") or {}
    if method == "initialize":
        return {
            "protocolVersion": params.get("protocolVersion", _VERSION),
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "nightshift", "version": "1"},
        }
    if method == "ping":
        return {}
    if method == "tools/list":
        return {"tools": [_shown(tool) for tool in tools.values()]}
    if method != "tools/call":
        raise Refused(_NO_METHOD, f"there is no method {method!r}")
    name = str(params.get("name"))
    if name not in tools:
        raise Refused(_BAD_PARAMETERS, f"there is no tool {name!r}; tools: {', '.join(tools)}")
    result = _called(name, params.get("arguments") or {})
    text = result.text
    if result.files:
        text += f"\nFiles written: {', '.join(result.files)}"
    return {"content": [{"type": "text", "text": text}], "isError": result.error is not None}


def _shown(tool: ToolDefinition[Any]) -> dict[str, Any]:
    spec = tool.spec
    return {
        "name": spec.name,
        "description": spec.description,
        "inputSchema": dict(spec.parameters),
    }


def _called(name: str, arguments: Mapping[str, Any]) -> ToolResult:
    request = json.dumps({"tool": name, "arguments": arguments}).encode()
    command = [sys.executable, "-P", "-m", _WORKER]
    done = subprocess.run(command, input=request, capture_output=True, check=False)
    ready, _, output = done.stdout.partition(b"\n")
    try:
        if ready == READY:
            return ToolResult.model_validate_json(output)
        why = "did not start"
    except ValidationError:
        why = f"ended with code {done.returncode} and without a result"
    said = done.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2][:300]
    return ToolResult(text=f"{name} {why}: {said or 'no message'}", error=ToolErrorKind.REFUSED)


if __name__ == "__main__":
    sys.exit(main())
