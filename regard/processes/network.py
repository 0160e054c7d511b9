"""Connections between machines: which network interface to use, and how to notice that a machine is
gone although it closed no connection."""

from __future__ import annotations

import os
import socket
import struct
import sys

from regard.errors import UsageError

IDLE_SECONDS, PROBE_SECONDS, PROBES = 5, 5, 3
"""A connection that is silent for so long is probed, so often, and then given up."""

LOST_SECONDS = IDLE_SECONDS + PROBE_SECONDS * PROBES

_INTERFACE = "GLOO_SOCKET_IFNAME"
_GET_ADDRESS = 0x8915  # SIOCGIFADDR of Linux's netdevice(7)


def notice_dead_peers() -> None:
    """Let the kernel end each TCP connection of this process whose other end does not answer.

    A process that dies closes its connections, a machine that loses power or its cable does not;
    without this, the others would wait for it. The kernel answers the probes, so a busy process
    counts as alive.
    """
    if not sys.platform.startswith("linux"):
        return
    for number in map(int, os.listdir("/proc/self/fd")):
        try:
            copy = socket.socket(fileno=os.dup(number))
        except OSError:  # closed meanwhile, or no socket
            continue
        with copy:
            if copy.type == socket.SOCK_STREAM and copy.family != socket.AF_UNIX:
                _probe(copy)


def _probe(connection: socket.socket) -> None:
    tcp = socket.IPPROTO_TCP
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    connection.setsockopt(tcp, socket.TCP_KEEPIDLE, IDLE_SECONDS)
    connection.setsockopt(tcp, socket.TCP_KEEPINTVL, PROBE_SECONDS)
    connection.setsockopt(tcp, socket.TCP_KEEPCNT, PROBES)
    connection.setsockopt(tcp, socket.TCP_USER_TIMEOUT, 1000 * LOST_SECONDS)


def use_interface(address: str) -> None:
    """Let gloo use the network interface that leads to an address, unless one is chosen.

    By default it uses the one that the name of this machine resolves to, which is often loopback.
    """
    if _INTERFACE in os.environ or not sys.platform.startswith("linux"):
        return
    own = _own_address(address)
    if is_loopback(own):
        raise UsageError(
            f"The first machine reports {address}, an address that others cannot reach: give "
            f"torchrun --local-addr with the address of each machine, or set {_INTERFACE}."
        )
    name = _interface_of(own)
    if name is not None:
        os.environ[_INTERFACE] = name


def is_loopback(address: str) -> bool:
    return address == "::1" or address.startswith("127.")


def _own_address(address: str) -> str:
    """Of this machine, as the machine at an address sees it; nothing is sent."""
    try:
        family, kind, _, _, there = socket.getaddrinfo(address, 9, type=socket.SOCK_DGRAM)[0]
        with socket.socket(family, kind) as probe:
            probe.connect(there)
            own: str = probe.getsockname()[0]
            return own
    except OSError as error:
        raise UsageError(
            f"Cannot reach the first machine, {address} ({error.strerror or error}): check the "
            "network and torchrun's --rdzv-endpoint."
        ) from None


def _interface_of(address: str) -> str | None:
    """The interface that has an IPv4 address."""
    import fcntl

    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        for _, name in socket.if_nameindex():
            request = struct.pack("256s", name.encode()[:15])
            try:
                answer = fcntl.ioctl(any_socket.fileno(), _GET_ADDRESS, request)
            except OSError:  # it has none
                continue
            if socket.inet_ntoa(answer[20:24]) == address:
                return name
    return None
