"""What every sandbox with exposed ports promises, whoever makes it."""

import asyncio
import os
import subprocess
from pathlib import Path

import pytest

from environments.network.allowed import allowed_network
from environments.ports import Completed, ExposedPort, Sandbox, SandboxProvider, Workspace
from environments.sandbox.workspace import new_workspace
from taskdata.errors import SandboxFailed
from taskdata.schema.task import Resources

CONNECT = (
    "import os, socket, sys, threading\n"
    "def connect(host='127.0.0.1', port=7007):\n"
    "    return socket.create_connection((host, port), 10)\n"
    "def rest(s):\n"
    "    got = b''\n"
    "    while chunk := s.recv(1 << 16): got += chunk\n"
    "    return got\n"
)


async def python(sandbox: Sandbox, code: str, **options: object) -> Completed:
    return await sandbox.run([*sandbox.python(), "-c", CONNECT + code], **options)


def run_with_echo(provider, workspace, echo, code: str, **limits: object) -> Completed:
    async def run() -> Completed:
        resources = Resources.model_validate(limits)
        async with (
            echo() as exposed,
            provider.open(workspace, resources, exposed_ports=[exposed]) as sandbox,
        ):
            return await python(sandbox, code)

    return asyncio.run(run())


def test_five_megabytes_go_in_and_come_back(provider, workspace, echo):
    done = run_with_echo(
        provider,
        workspace,
        echo,
        "data = os.urandom(5 << 20)\n"
        "s = connect('localhost', int(os.environ['ECHO_PORT']))\n"
        "def send(): s.sendall(data); s.shutdown(socket.SHUT_WR)\n"
        "threading.Thread(target=send).start()\n"
        "print(rest(s) == data)\n",
    )

    assert (done.stdout, done.exit_code) == (b"True\n", 0), done.stderr


def test_many_connections_at_once_are_kept_apart(provider, workspace, echo):
    done = run_with_echo(
        provider,
        workspace,
        echo,
        "connections = [connect() for _ in range(150)]\n"
        "for i, s in enumerate(connections): s.sendall(b'%d' % i)\n"
        "for s in connections: s.shutdown(socket.SHUT_WR)\n"
        "print([int(rest(s)) for s in connections] == list(range(150)))\n"
        # More than are carried at once wait for their turn.
        "more = [connect() for _ in range(200)]\n"
        "for s in more: s.sendall(b'x'); s.close()\n"
        "s = connect(); s.sendall(b'last'); s.shutdown(socket.SHUT_WR); print(rest(s))\n",
    )

    assert done.stdout == b"True\nb'last'\n", done.stderr


def test_a_reader_that_does_not_read_holds_the_writer_back(provider, workspace, echo):
    done = run_with_echo(
        provider,
        workspace,
        echo,
        "s = connect(); s.settimeout(1); sent = 0\n"
        "try:\n"
        "    while True: sent += s.send(bytes(1 << 16))\n"
        "except TimeoutError: print(sent < 64 << 20)\n",
        memory_mb=96,
    )

    assert (done.stdout, done.limit) == (b"True\n", None), done.stderr


def test_a_service_that_is_gone_is_an_error_and_one_that_is_back_is_found(
    provider: SandboxProvider, workspace: Workspace, echo
):
    code = (
        "while line := sys.stdin.readline():\n"
        "    try:\n"
        "        s = connect(); s.sendall(b'hello'); s.shutdown(socket.SHUT_WR)\n"
        "        print(rest(s).decode(), flush=True)\n"
        "    except OSError: print('refused', flush=True)\n"
    )

    async def run() -> list[bytes]:
        async with echo() as exposed:
            pass
        async with provider.open(workspace, Resources(), exposed_ports=[exposed]) as sandbox:
            process = await sandbox.start([*sandbox.python(), "-c", CONNECT + code])

            async def told() -> bytes:
                await process.write(b"try\n")
                return await process.read()

            said = [await told()]
            async with echo():
                said.append(await told())
            said.append(await told())
            async with echo():
                said.append(await told())
            assert (await process.close(5)).exit_code == 0
            return said

    assert asyncio.run(run()) == [b"refused\n", b"hello\n", b"refused\n", b"hello\n"]


def test_sandboxes_do_not_see_each_others_exposed_ports(provider, workspace, echo, tmp_path: Path):
    look = (
        "print(sorted(os.listdir('/run/nightshift/ports')))\n"
        "for port in (7007, 7008):\n"
        "    try: print(connect(port=port).recv(100))\n"
        "    except ConnectionRefusedError: print('refused')\n"
    )

    async def run() -> list[bytes]:
        async with (
            echo(7007, b"mine") as mine,
            echo(7008, b"yours") as yours,
            provider.open(workspace, Resources(), exposed_ports=[mine]) as here,
            provider.open(other, Resources(), exposed_ports=[yours]) as there,
        ):
            return [done.stdout for done in (await python(here, look), await python(there, look))]

    with new_workspace(tmp_path, {}) as other:
        assert asyncio.run(run()) == [
            b"['7007']\nb'mine'\nrefused\n",
            b"['7008']\nrefused\nb'yours'\n",
        ]


def test_without_exposed_ports_nothing_is_there(run_python):
    done = run_python(
        "import os\n"
        "print([n for n in os.environ if 'PROXY' in n], os.path.exists('/run/nightshift'))\n"
        "print(open('/proc/net/tcp').read().count('\\n'))\n"
        "lines = [open(f'/proc/{p}/cmdline').read() for p in os.listdir('/proc') if p.isdigit()]\n"
        # In two parts, or it would find itself.
        "print(any('relay' + '.py' in line for line in lines))\n"
    )

    assert done.stdout == b"[] False\n1\nFalse\n", done.stderr


def test_a_program_does_not_notice_the_relay(provider, workspace, echo):
    done = run_with_echo(
        provider,
        workspace,
        echo,
        "import signal, subprocess\n"
        "print('err', file=sys.stderr)\n"
        "try: os.wait()\n"
        "except ChildProcessError: print('no child')\n"
        "def ours(p): return (open(f'/proc/{p}/cmdline').read().split('\\0') + [''] * 3)[3]\n"
        "pids = [int(p) for p in os.listdir('/proc') if p.isdigit()]\n"
        "[relay] = [p for p in pids if ours(p).endswith('relay.py')]\n"
        "print(os.getsid(relay) == os.getsid(0), os.getpgid(relay) == os.getpgid(0))\n"
        # Python itself ignores SIGPIPE and SIGXFSZ, the programs it starts do not.
        "show = subprocess.run(['grep', 'SigIgn', '/proc/self/status'], capture_output=True)\n"
        "print(show.stdout.split()[1].strip(b'0'), flush=True)\n"
        "os.kill(os.getpid(), signal.SIGTERM)\n",
    )

    # What was ignored where the tests were started is ignored here as well, if it is a child.
    shown = subprocess.run(["grep", "SigIgn", "/proc/self/status"], capture_output=True)
    ignored = shown.stdout.split()[1].strip(b"0") if provider.name == "bubblewrap" else b""
    assert done.exit_code == -15
    assert done.stderr.startswith(b"err\n")
    assert done.stdout == b"no child\nFalse False\n%a\n" % ignored


def test_an_exit_code_a_missing_program_and_a_limit_are_told_as_ever(provider, workspace, echo):
    async def run() -> list[Completed]:
        limits = Resources(processes=16, wall_seconds=20)
        async with (
            echo() as exposed,
            provider.open(workspace, limits, exposed_ports=[exposed]) as sandbox,
        ):
            return [
                await sandbox.run(["no-such-program"]),
                await python(sandbox, "print(len(sys.stdin.read())); sys.exit(3)", stdin=b"x" * 99),
                await python(
                    sandbox,
                    "import time\n"
                    "ts = [threading.Thread(target=time.sleep, args=(1,)) for _ in range(15)]\n"
                    "for t in ts: t.start()\n"
                    "print('started')\n",
                ),
                await python(
                    sandbox, "while True:\n    try: os.fork()\n    except OSError: pass\n"
                ),
            ]

    missing, code, within, bomb = asyncio.run(run())
    assert missing.exit_code == 127
    assert (code.exit_code, code.stdout) == (3, b"99\n")
    assert (within.stdout, within.limit) == (b"started\n", None), within.stderr
    assert bomb.limit == "processes"


def test_nothing_outlives_the_program_and_the_next_one_finds_its_exposed_ports(
    provider: SandboxProvider, workspace: Workspace, echo, alive, eventually
):
    port = 10_000 + os.getpid() % 50_000

    async def run() -> list[bytes]:
        async with (
            echo(port, b"hello") as exposed,
            provider.open(workspace, Resources(), exposed_ports=[exposed]) as sandbox,
        ):
            code = f"s = connect(port={port}); print(s.recv(9))"
            said = [(await python(sandbox, code)).stdout for _ in range(2)]
            assert eventually(lambda: not alive(f"relay.py\0{port}="))
            process = await sandbox.start([*sandbox.python(), "-c", CONNECT + code + "\ninput()"])
            said.append(await process.read())
            assert alive(f"relay.py\0{port}=")
            await process.close()
            assert eventually(lambda: not alive(f"relay.py\0{port}="))
            return said

    assert asyncio.run(run()) == [b"b'hello'\n"] * 3


def test_with_exposed_ports_there_is_still_no_network(provider, workspace, echo):
    done = run_with_echo(
        provider,
        workspace,
        echo,
        "def attempt(what, call):\n"
        "    try: call()\n"
        "    except OSError: print(what, 'refused')\n"
        "    else: print(what, 'WENT OUT')\n"
        "def udp(host, port):\n"
        "    socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'hello', (host, port))\n"
        "attempt('metadata', lambda: connect('169.254.169.254', 80))\n"
        "attempt('host', lambda: connect('8.8.8.8', 53))\n"
        "attempt('udp', lambda: udp('8.8.8.8', 53))\n"
        "attempt('name', lambda: connect('example.com', 80))\n"
        "attempt('other port', lambda: connect('127.0.0.1', 22))\n"
        "attempt('write', lambda: open('/run/nightshift/ports/7007/x', 'w'))\n"
        "attempt('remove', lambda: os.remove('/run/nightshift/ports/7007/s'))\n",
    )

    assert [line.split()[-1] for line in done.stdout.decode().splitlines()] == ["refused"] * 7, (
        done.stdout,
        done.stderr,
    )


def test_through_a_proxy_an_allowed_host_is_reached_and_another_refused(
    provider: SandboxProvider, workspace: Workspace
):
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nwell")
        await writer.drain()
        writer.close()

    code = (
        "import urllib.error, urllib.request\n"
        "for url in ('http://127.0.0.2:PORT/', 'http://example.org/', 'https://169.254.169.254/'):\n"
        "    try: print(urllib.request.urlopen(url, timeout=10).read())\n"
        "    except urllib.error.HTTPError as error: print(error.code)\n"
        "    except OSError as error: print(error)\n"
    )

    async def run() -> tuple[bytes, list[str], dict[str, float]]:
        server = await asyncio.start_server(serve, "127.0.0.2", 0)
        port = server.sockets[0].getsockname()[1]
        allow = f"127.0.0.2:{port}"
        async with (
            server,
            allowed_network((allow,)) as network,
            provider.open(
                workspace, Resources(network=(allow,)), exposed_ports=network.exposed_ports
            ) as sandbox,
        ):
            done = await python(sandbox, code.replace("PORT", str(port)))
            held = {limit.name: limit.value for limit in sandbox.facts().enforced}
            return done.stdout, [refused.target for refused in network.refused()], held

    said, refused, held = asyncio.run(run())
    assert said.splitlines()[:2] == [b"b'well'", b"403"]
    assert b"403 Forbidden" in said.splitlines()[2]
    assert refused == ["example.org:80", "169.254.169.254:443"]
    assert held["network"] == 1


def test_exposed_ports_of_services_alone_are_no_network(provider, workspace, echo):
    async def run() -> float:
        async with (
            echo() as exposed,
            provider.open(workspace, Resources(), exposed_ports=[exposed]) as sandbox,
        ):
            return {limit.name: limit.value for limit in sandbox.facts().enforced}["network"]

    assert asyncio.run(run()) == 0


def test_an_exposed_port_that_cannot_be_is_found_out_at_once(provider, workspace, tmp_path: Path):
    async def run() -> None:
        async with provider.open(
            workspace, Resources(), exposed_ports=[ExposedPort(7007, tmp_path / "no" / "s")]
        ):
            pytest.fail("it opened")

    with pytest.raises(SandboxFailed, match="cannot be read"):
        asyncio.run(run())
