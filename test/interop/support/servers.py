"""The servers under test: Lachesis, and the stock server the same tests can be checked against (`--stock`)."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

from .processes import LOOPBACK_ENV, Child, free_port
from .waiting import STARTS_WITHIN_SECONDS, wait_until

REPOSITORY = Path(__file__).resolve().parents[3]
NODE = os.environ.get("LACHESIS_NODE", str(REPOSITORY / "node_modules" / ".bin" / "node"))

Role = Literal["environment", "trainer"]


class Server(Protocol):
    """What a `Run` needs to know of the server it is on."""

    port: int

    def credentials(self, run: str, role: Role) -> str: ...

    def prefix(self, run: str, label: str | None) -> str: ...


@dataclass
class Run:
    """One run, and the URLs its clients are given."""

    server: Server
    name: str

    def url(self, role: Role, label: str | None = None, port: int | None = None) -> str:
        """The server URL of a client: credentials as user and password, the run (and label) in its path.

        `port` points the client at something in between, such as a `Tap`.
        """
        credentials = self.server.credentials(self.name, role)
        prefix = self.server.prefix(self.name, label)
        return f"http://{credentials}@127.0.0.1:{port or self.server.port}{prefix}"


def accepts_connections(port: int) -> bool:
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex(("127.0.0.1", port)) == 0


class Lachesis:
    """`lachesis start --api-only --auth` on a port and a state folder that both outlive a restart."""

    def __init__(self, folder: Path) -> None:
        self.port = free_port()
        self._state = folder / "state"
        self._tokens: dict[tuple[str, Role], str] = {}
        command = [NODE, "cli/main.ts", "start", "--api-only", "--port", str(self.port)]
        self._child = Child(
            [*command, "--state", str(self._state), "--auth"],
            log=folder / "lachesis.log",
            cwd=REPOSITORY,
        )

    def start(self) -> None:
        """Start (again), and return once the server says where it listens."""
        already_printed = len(self._child.log_text())
        self._child.start()
        self._wait_ready(already_printed)

    def kill(self) -> None:
        """kill -9, the runtime's own processes included; nothing gets to write another byte."""
        self._child.kill()
        wait_until(lambda: not accepts_connections(self.port), f"port {self.port} to be free")

    def stop(self) -> None:
        self._child.stop()

    def credentials(self, run: str, role: Role) -> str:
        key = (run, role)
        if key not in self._tokens:
            command = [NODE, "cli/main.ts", "token", "--run", run, "--role", role]
            done = subprocess.run(
                [*command, "--days", "1", "--state", str(self._state)],
                cwd=REPOSITORY,
                env={**os.environ, **LOOPBACK_ENV},
                capture_output=True,
                text=True,
                timeout=30,
                check=False,
            )
            assert done.returncode == 0, f"no {role} token: {done.stdout}{done.stderr}"
            self._tokens[key] = done.stdout.strip()
        return f"x:{self._tokens[key]}"

    def prefix(self, run: str, label: str | None) -> str:
        return f"/runs/{run}/as/{label}" if label else f"/runs/{run}"

    def _wait_ready(self, already_printed: int) -> None:
        def ready() -> bool:
            self._child.require_alive()
            printed = self._child.log_text()[already_printed:]
            return f":{self.port}" in printed and accepts_connections(self.port)

        wait_until(ready, "Lachesis to print its URL", STARTS_WITHIN_SECONDS)


class Stock:
    """The Python server Lachesis replaces: one run a process, no tokens, no labels, nothing kept."""

    def __init__(self, folder: Path) -> None:
        self.port = free_port()
        run_api = Path(sys.executable).with_name("run-api")
        self._child = Child(
            [str(run_api), "--host", "127.0.0.1", "--port", str(self.port)],
            log=folder / "stock.log",
        )

    def start(self) -> None:
        self._child.start()

        def ready() -> bool:
            self._child.require_alive()
            return accepts_connections(self.port)

        wait_until(ready, "the stock server to listen", STARTS_WITHIN_SECONDS)

    def stop(self) -> None:
        self._child.stop()

    def credentials(self, run: str, role: Role) -> str:
        return "x:ignored"

    def prefix(self, run: str, label: str | None) -> str:
        return ""
