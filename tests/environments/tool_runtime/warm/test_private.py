import os
import signal

from environments.tool_runtime.warm.private import PrivateMemory


def piped(data: bytes) -> int:
    read_end, write_end = os.pipe()
    os.write(write_end, data)
    os.close(write_end)
    return read_end


def test_it_keeps_what_fits():
    memory, source = PrivateMemory(6), piped(b"abcdefgh")
    assert memory.read_from(source) == 6
    assert (memory.left, bytes(memory.content(2, 4))) == (0, b"cd")
    memory.clear()
    assert memory.read_from(source) == 2
    assert bytes(memory.content()) == b"gh"
    assert memory.read_from(source) == 0
    memory.close()


def test_a_forked_process_does_not_have_it():
    memory = PrivateMemory(6)
    memory.read_from(piped(b"secret"))
    child = os.fork()
    if child == 0:
        signal.signal(signal.SIGSEGV, signal.SIG_DFL)
        bytes(memory.content())
        os._exit(0)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == -signal.SIGSEGV
