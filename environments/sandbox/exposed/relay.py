"""Carries a program's connections from its own loopback to the Unix sockets of its exposed ports.

This script runs inside a sandbox, as `relay.py PORT=SOCKET ... -- PROGRAM ARGUMENT ...`. It listens
on 127.0.0.1, starts a detached process in a session of its own that forwards connections, and then
executes the program, which keeps the process id, streams, signals and exit code and has no child
that it did not start. The detached process ends when the program ends, if the sandbox does not end
it first.

Every program with exposed ports waits for this script. So it imports only modules that a bare
Python has loaded already or that are written in C: `socket` and `signal` alone would take twice as
long as everything else.
"""

import _signal  # type: ignore[import-not-found]
import _socket
import os
import select
import sys

_CHUNK = 1 << 16
# Each connection needs two descriptors, of which a sandboxed process may have 512.
_MAX_CONNECTIONS = 200
_BACKLOG = 128
_SECONDS_BETWEEN_ATTEMPTS = 0.02
_CANNOT_LISTEN = 125
# struct linger with a time of zero: closing the socket resets the connection.
_RESET = (1).to_bytes(4, sys.byteorder) + bytes(4)


class Flow:
    """One direction of a connection; buffers at most one chunk that the target has not taken."""

    __slots__ = ("_shut", "_source", "_target", "ended", "unsent")

    def __init__(self, source: _socket.socket, target: _socket.socket) -> None:
        self._source = source
        self._target = target
        self._shut = False
        self.unsent = b""
        self.ended = False
        """The source has ended its output."""

    def step(self) -> None:
        """Move what can be moved without waiting; raises OSError when a side is lost."""
        try:
            if not self.unsent and not self.ended:
                self.unsent = self._source.recv(_CHUNK)
                self.ended = not self.unsent
            if self.unsent:
                self.unsent = self.unsent[self._target.send(self.unsent) :]
            if self.is_over() and not self._shut:
                self._target.shutdown(_socket.SHUT_WR)
                self._shut = True
        except BlockingIOError:
            return

    def is_over(self) -> bool:
        """Return whether everything has been delivered."""
        return self.ended and not self.unsent


class Connection:
    """A program's connection and the connection to the service, joined in both directions."""

    def __init__(self, client: _socket.socket, service: _socket.socket) -> None:
        self.client = client
        self.service = service
        self._out = Flow(client, service)
        self._back = Flow(service, client)

    def step(self) -> bool:
        """Move what can be moved; return False once the connection is over and closed."""
        try:
            self._out.step()
            self._back.step()
        except OSError:
            reset(self.client)
            self.service.close()
            return False
        if self._out.is_over() and self._back.is_over():
            self.client.close()
            self.service.close()
            return False
        return True

    def interests(self) -> tuple[int, int]:
        """Return what to wait for on the client's and on the service's socket."""
        return _interest(self._out, self._back), _interest(self._back, self._out)


def _interest(outgoing: Flow, incoming: Flow) -> int:
    wanted = 0 if outgoing.ended or outgoing.unsent else select.EPOLLIN
    return wanted | (select.EPOLLOUT if incoming.unsent else 0)


class Listener:
    """A port on loopback and the service behind it."""

    def __init__(self, port: int, path: str) -> None:
        self.socket = _socket.socket(_socket.AF_INET, _socket.SOCK_STREAM)
        self.socket.setsockopt(_socket.SOL_SOCKET, _socket.SO_REUSEADDR, 1)
        self.socket.bind(("127.0.0.1", port))
        self.socket.listen(_BACKLOG)
        self.socket.setblocking(False)
        self._path = path
        self.waiting: _socket.socket | None = None
        """A client whose service connection could not be opened yet, because the service is
        busy."""

    def accept(self) -> Connection | None:
        """Return the next connection, None if there is none now or the service is not running."""
        client, self.waiting = self.waiting or self._next_client(), None
        if client is None:
            return None
        service = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
        service.setblocking(False)
        try:
            service.connect(self._path)
        except BlockingIOError:
            self.waiting = client
        except OSError:
            reset(client)
        else:
            return Connection(client, service)
        service.close()
        return None

    def _next_client(self) -> _socket.socket | None:
        try:
            number, _ = self.socket._accept()  # type: ignore[attr-defined]
        except OSError:
            return None
        client = _socket.socket(fileno=number)
        client.setblocking(False)
        client.setsockopt(_socket.IPPROTO_TCP, _socket.TCP_NODELAY, 1)
        return client


def reset(client: _socket.socket) -> None:
    """Close so that the program sees an error instead of an end of file."""
    client.setsockopt(_socket.SOL_SOCKET, _socket.SO_LINGER, _RESET)
    client.close()


class Relay:
    """All connections of one program."""

    def __init__(self, listeners: list[Listener], program: int) -> None:
        self._program = program
        self._poll = select.epoll()
        self._poll.register(program, select.EPOLLIN)
        self._listeners = {listener.socket.fileno(): listener for listener in listeners}
        self._connections: dict[int, Connection] = {}
        self._watched: dict[int, int] = {}

    def serve(self) -> None:
        """Forward connections until the program has ended."""
        while True:
            self._watch_listeners()
            busy = any(listener.waiting for listener in self._listeners.values())
            ready = {
                number for number, _ in self._poll.poll(_SECONDS_BETWEEN_ATTEMPTS if busy else -1)
            }
            if self._program in ready:
                return
            for connection in {c for n in ready if (c := self._connections.get(n))}:
                self._step(connection)
            for number, listener in self._listeners.items():
                if number in ready or listener.waiting:
                    self._accept(listener)

    def _watch_listeners(self) -> None:
        room = len(self._connections) < 2 * _MAX_CONNECTIONS
        for number, listener in self._listeners.items():
            self._watch(number, select.EPOLLIN if room and not listener.waiting else 0)

    def _accept(self, listener: Listener) -> None:
        connection = listener.accept()
        if connection is not None:
            self._connections[connection.client.fileno()] = connection
            self._connections[connection.service.fileno()] = connection
            self._step(connection)

    def _step(self, connection: Connection) -> None:
        numbers = connection.client.fileno(), connection.service.fileno()
        if connection.step():
            for number, interest in zip(numbers, connection.interests(), strict=True):
                self._watch(number, interest)
            return
        for number in numbers:
            del self._connections[number]
            # Closing a socket has removed it from the poll already.
            self._watched.pop(number, None)

    def _watch(self, number: int, interest: int) -> None:
        watched = self._watched.get(number, 0)
        if interest == watched:
            return
        self._watched[number] = interest
        # Unregister instead of polling for nothing: a closed peer would be reported forever.
        if not interest:
            self._poll.unregister(number)
        elif watched:
            self._poll.modify(number, interest)
        else:
            self._poll.register(number, interest)


def leave_behind(listeners: list[Listener]) -> None:
    """Start a detached process that forwards connections for this process."""
    program = os.pidfd_open(os.getpid())
    child = os.fork()
    if child:
        os.waitpid(child, 0)
        os.close(program)
        return
    try:
        os.setsid()
        if os.fork() == 0:
            nothing = os.open(os.devnull, os.O_RDWR)
            for stream in range(3):
                os.dup2(nothing, stream)
            os.chdir("/")
            Relay(listeners, program).serve()
    finally:
        os._exit(0)


def main(arguments: list[str]) -> None:
    """Listen at the exposed ports, start the forwarding process and become the program."""
    end = arguments.index("--")
    try:
        exposed_ports = (exposed.partition("=") for exposed in arguments[:end])
        leave_behind([Listener(int(port), path) for port, _, path in exposed_ports])
    except OSError as error:
        sys.stderr.write(f"the relay to the sandbox's exposed ports failed: {error}\n")
        sys.exit(_CANNOT_LISTEN)
    # Python ignores these signals, and the program would inherit that.
    _signal.signal(_signal.SIGPIPE, _signal.SIG_DFL)
    _signal.signal(_signal.SIGXFSZ, _signal.SIG_DFL)
    program = arguments[end + 1 :]
    os.execv(program[0], program)  # noqa: S606 - no shell is wanted


if __name__ == "__main__":
    main(sys.argv[1:])
