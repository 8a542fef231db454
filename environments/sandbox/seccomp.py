"""System call filters: a full one for bubblewrap, and an additional one for containers.

Namespaces leave gaps that a filter closes: nested namespaces that mount memory without limit,
memory that no process has mapped (memfd, System V), sockets that network namespaces do not separate
(vsock), keyrings shared by user id, and system calls that few programs need. Reserving disk space
without writing, which takes gigabytes at once, is refused with the error of a file system that
lacks the feature, so that libraries fall back to writing.

The filter is written as classic BPF here, because the package `pyseccomp` is only a binding to
libseccomp.so, which its wheel does not bring and a host may lack.
"""

import platform
import struct
from typing import NamedTuple


class _Architecture(NamedTuple):
    audit: int
    blocked: tuple[int, ...]
    clone: int
    clone3: int
    socket: int
    shmget: int
    fallocate: int
    ioctl: int
    prctl: int


# fsopen, fsconfig, fsmount, fspick, open_tree, move_mount, mount_setattr, memfd_secret and
# io_uring_setup, _enter, _register have the same number on every architecture.
_EVERYWHERE = (430, 431, 432, 433, 428, 429, 442, 447, 425, 426, 427)
_ARCHITECTURES = {
    # unshare, setns, mount, umount2, pivot_root, memfd_create, msgget, keyctl, add_key,
    # request_key, bpf, perf_event_open, userfaultfd
    "x86_64": _Architecture(
        0xC000003E,
        (272, 308, 165, 166, 155, 319, 68, 250, 248, 249, 321, 298, 323, *_EVERYWHERE),
        clone=56,
        clone3=435,
        socket=41,
        shmget=29,
        fallocate=285,
        ioctl=16,
        prctl=157,
    ),
    "aarch64": _Architecture(
        0xC00000B7,
        (97, 268, 40, 39, 41, 279, 186, 219, 217, 218, 280, 241, 282, *_EVERYWHERE),
        clone=220,
        clone3=435,
        socket=198,
        shmget=194,
        fallocate=47,
        ioctl=29,
        prctl=167,
    ),
}
_NAMESPACE_FLAGS = 0x7E02_0000  # CLONE_NEWNS, -CGROUP, -UTS, -IPC, -USER, -PID, -NET
_FAMILIES = (1, 2, 10, 16)  # unix, inet, inet6, netlink
_X32_BIT = 0x4000_0000

# PostgreSQL marks its data with a System V segment of some 50 bytes; a namespace holds at most
# 4096 segments of a page each.
_SMALL_SEGMENT = 1024

# FS_IOC_RESVSP and similar commands, which reserve blocks on any file system that has fallocate,
# are of the type 'X', as are XFS's own; the type is the second byte of a command.
_TYPE_OF_COMMAND, _FILE_SYSTEM_COMMAND = 0xFF00, ord("X") << 8

_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN, _AND = 0x20, 0x15, 0x35, 0x45, 0x06, 0x54
# offsets in struct seccomp_data, which holds each argument as 64 bits, the lower half first
_NUMBER, _ARCH, _FIRST_ARGUMENT, _SECOND_ARGUMENT = 0, 4, 16, 24
_ALLOW, _KILL = 0x7FFF_0000, 0x8000_0000
_NOT_PERMITTED, _NO_SUCH_CALL, _NO_SUCH_FAMILY = 0x0005_0001, 0x0005_0026, 0x0005_0061
_NOT_SUPPORTED = 0x0005_005F


def seccomp_filter() -> bytes:
    """Return the filter as classic BPF; on unknown architectures, a filter that allows all."""
    machine = _ARCHITECTURES.get(platform.machine())
    if machine is None:
        return _op(_RETURN, _ALLOW)
    program = [
        _op(_LOAD, _ARCH),
        _op(_EQUAL, machine.audit, 1, 0),
        _op(_RETURN, _KILL),
        _op(_LOAD, _NUMBER),
        *_answer(_AT_LEAST, _X32_BIT, _NOT_PERMITTED),
        # glibc falls back to clone, whose flags a filter can inspect.
        *_answer(_EQUAL, machine.clone3, _NO_SUCH_CALL),
    ]
    for number in machine.blocked:
        program += _answer(_EQUAL, number, _NOT_PERMITTED)
    program += _no_reserving(machine)
    program += [
        _op(_EQUAL, machine.clone, 0, 4),
        _op(_LOAD, _FIRST_ARGUMENT),
        *_answer(_ANY_BIT, _NAMESPACE_FLAGS, _NOT_PERMITTED),
        _op(_RETURN, _ALLOW),
        _op(_EQUAL, machine.shmget, 0, 7),
        _op(_LOAD, _SECOND_ARGUMENT),
        *_answer(_AT_LEAST, _SMALL_SEGMENT + 1, _NOT_PERMITTED),
        _op(_LOAD, _SECOND_ARGUMENT + 4),
        *_answer(_AT_LEAST, 1, _NOT_PERMITTED),
        _op(_RETURN, _ALLOW),
        _op(_EQUAL, machine.socket, 0, 2 + 2 * len(_FAMILIES)),
        _op(_LOAD, _FIRST_ARGUMENT),
    ]
    for family in _FAMILIES:
        program += _answer(_EQUAL, family, _ALLOW)
    program += [_op(_RETURN, _NO_SUCH_FAMILY), _op(_RETURN, _ALLOW)]
    return b"".join(program)


# Perl is part of every Debian and starts in two milliseconds, Python in twenty.
_PERL = (
    'my ($prctl, $filter) = (shift, pack "H*", shift); '
    'my $program = pack "Sx![Q]P", length($filter) / 8, $filter; '
    'syscall($prctl, 22, 2, $program) == 0 or die "no filter on system calls: $!\n"; '
    'exec { $ARGV[0] } @ARGV or die "$ARGV[0]: $!\n"'
)


def filtered() -> tuple[str, ...]:
    """Return the prefix of a command in a container that keeps it from reserving disk space.

    The filter is added to the engine's filter and inherited by every process that the command
    starts. The kernel requires a process that cannot gain privileges. On unknown architectures the
    prefix is empty.
    """
    machine = _ARCHITECTURES.get(platform.machine())
    if machine is None:
        return ()
    program = [
        _op(_LOAD, _ARCH),
        # Calls of other architectures are left to the engine's filter.
        _op(_EQUAL, machine.audit, 1, 0),
        _op(_RETURN, _ALLOW),
        _op(_LOAD, _NUMBER),
        *_no_reserving(machine),
        _op(_RETURN, _ALLOW),
    ]
    return ("/usr/bin/perl", "-e", _PERL, str(machine.prctl), b"".join(program).hex())


def _no_reserving(machine: _Architecture) -> list[bytes]:
    """Return the part that refuses to reserve space; the call number stays loaded."""
    return [
        *_answer(_EQUAL, machine.fallocate, _NOT_SUPPORTED),
        _op(_EQUAL, machine.ioctl, 0, 5),
        _op(_LOAD, _SECOND_ARGUMENT),
        _op(_AND, _TYPE_OF_COMMAND),
        *_answer(_EQUAL, _FILE_SYSTEM_COMMAND, _NOT_SUPPORTED),
        _op(_RETURN, _ALLOW),
    ]


def _op(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("=HBBI", code, if_true, if_false, value)


def _answer(test: int, value: int, answer: int) -> tuple[bytes, bytes]:
    """Return with `answer` when `test` holds, continue otherwise."""
    return _op(test, value, 0, 1), _op(_RETURN, answer)
