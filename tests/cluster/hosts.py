"""Two machines in one: network namespaces with addresses of their own and a cable between them."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Host:
    """A namespace, the end of the cable in it, and its address."""

    name: str
    interface: str
    address: str

    def start(self, command: Sequence[str], log: Path) -> subprocess.Popen[bytes]:
        """A command on this host, in a process group of its own; its output is added to a file."""
        with log.open("ab") as stream:
            return subprocess.Popen(
                ["ip", "netns", "exec", self.name, *command],
                stdout=stream,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                env={**os.environ, "OMP_NUM_THREADS": "1"},
            )

    def lose_power(self) -> None:
        """Every process ends at once; with the cable cut, nobody is told."""
        for number in run("ip", "netns", "pids", self.name).split():
            with suppress(ProcessLookupError):
                os.kill(int(number), signal.SIGKILL)

    def plug(self, state: str) -> None:
        """Put this end of the cable up or down."""
        run("ip", "-n", self.name, "link", "set", self.interface, state)


@contextmanager
def two_hosts() -> Iterator[tuple[Host, Host]]:
    """Two hosts that reach each other and nothing else; they are gone at the end."""
    number = os.getpid()
    hosts = tuple(
        Host(f"regard-{number}-{side}", f"rg{number}{side}", f"10.77.0.{last}")
        for side, last in (("a", 1), ("b", 2))
    )
    first, second = hosts
    try:
        for host in hosts:
            run("ip", "netns", "add", host.name)
        run(
            *("ip", "link", "add", first.interface, "netns", first.name, "type", "veth"),
            *("peer", "name", second.interface, "netns", second.name),
        )
        for host in hosts:
            run(
                *("ip", "-n", host.name, "address", "add", f"{host.address}/24"),
                *("dev", host.interface),
            )
            run("ip", "-n", host.name, "link", "set", "lo", "up")
            host.plug("up")
        yield first, second
    finally:
        for host in hosts:
            with suppress(subprocess.CalledProcessError):
                host.lose_power()
                run("ip", "netns", "del", host.name)


def why_not() -> str:
    """Why there cannot be two hosts here; empty if there can."""
    try:
        with two_hosts():
            return ""
    except FileNotFoundError:
        return "ip is not installed (package iproute2)"
    except subprocess.CalledProcessError as error:
        return f"network namespaces need root on Linux ({error.stderr.strip()})"


def run(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout
