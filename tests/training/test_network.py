"""How processes find each other, and how they notice that a machine is gone."""

from __future__ import annotations

import os
import socket
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from torch.distributed import HashStore
from torch.distributed.distributed_c10d import PrefixStore

from regard.errors import UsageError
from regard.processes import network
from regard.processes.network import LOST_SECONDS, notice_dead_peers, use_interface
from regard.processes.ranks import Ranks, meet
from regard.runs.train import READY, train

linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="settings of Linux")


@linux
def test_every_tcp_connection_of_the_process_is_probed() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        client = socket.create_connection(server.getsockname())
        other, _ = server.accept()
        pair = socket.socketpair()
        with client, other, pair[0], pair[1]:
            notice_dead_peers()
            for end in (client, other):
                assert end.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE) == 1
                option = end.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT)
                assert option == 1000 * LOST_SECONDS
            client.sendall(b"still open")
            assert other.recv(10) == b"still open"


@linux
def test_gloo_uses_the_interface_that_leads_to_the_first_machine(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("GLOO_SOCKET_IFNAME", raising=False)
    monkeypatch.setattr(network, "is_loopback", lambda address: False)
    use_interface("127.0.0.1")
    assert os.environ.pop("GLOO_SOCKET_IFNAME") == "lo"
    monkeypatch.setenv("GLOO_SOCKET_IFNAME", "chosen")
    use_interface("nobody.invalid")  # nothing is asked
    assert os.environ["GLOO_SOCKET_IFNAME"] == "chosen"


def test_an_environment_that_torchrun_did_not_make_is_refused() -> None:
    several = {"WORLD_SIZE": "2", "RANK": "0"}
    for environment, sentence in (
        ({"WORLD_SIZE": "two"}, "WORLD_SIZE is 'two', which is not a number"),
        ({"WORLD_SIZE": "2"}, "RANK is not set: start them with torchrun"),
        ({**several, "RANK": "-1"}, "RANK is '-1', which is not a number"),
        ({**several, "LOCAL_WORLD_SIZE": ""}, "LOCAL_WORLD_SIZE is '', which is not a number"),
        (several, "MASTER_ADDR is not set"),
        ({**several, "MASTER_ADDR": "127.0.0.1"}, "MASTER_PORT is not set"),
    ):
        with pytest.raises(UsageError, match=sentence):
            Ranks.join(environment)


@linux
def test_addresses_that_lead_nowhere_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GLOO_SOCKET_IFNAME", raising=False)
    with pytest.raises(UsageError, match="that others cannot reach: give torchrun --local-addr"):
        use_interface("127.0.1.1")
    with pytest.raises(UsageError, match=r"Cannot reach the first machine, nobody\.invalid"):
        use_interface("nobody.invalid")


def test_processes_meet_although_dead_ones_left_their_names() -> None:
    store = HashStore()
    store.set("called", "dead0 dead1 dead2")
    for rank in range(3):
        store.set(f"name {rank}", f"dead{rank}")
        store.set(f"joined {rank}", "dead0")
    with ThreadPoolExecutor(3) as pool:
        for _ in range(2):  # the second round finds what the first has left
            found = list(pool.map(lambda rank: meet(store, rank, 3, lambda: None), range(3)))
            for rank, own in enumerate(found):
                assert isinstance(own, PrefixStore)
                own.set(f"address {rank}", "here")
            assert all(own.check([f"address {rank}" for rank in range(3)]) for own in found)
            found[0].delete_key("address 1")
            assert not found[2].check(["address 1"])


def test_a_folder_that_a_machine_does_not_see_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    second = Ranks(rank=1, size=2)
    monkeypatch.setattr(Ranks, "join", lambda: second)
    monkeypatch.setattr(Ranks, "broadcast", lambda ranks, values: [READY])
    with pytest.raises(UsageError, match=r"Process 1 does not find .*: give a folder that all"):
        train("tiny", run=tmp_path / "elsewhere")
