"""Child processes: started in a group of their own, logged to a file, and never left behind."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from .waiting import wait_until

# A developer's own proxy settings must not come between processes that talk over loopback.
LOOPBACK_ENV = {"NO_PROXY": "127.0.0.1,localhost", "no_proxy": "127.0.0.1,localhost"}


def free_port() -> int:
    """A TCP port nobody listens on at the moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Child:
    """One child process, together with whatever it starts itself (its process group)."""

    def __init__(
        self,
        command: Sequence[str],
        log: Path,
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
    ) -> None:
        self.command = list(command)
        self.log = log
        self._env = {**os.environ, **LOOPBACK_ENV, **(env or {})}
        self._cwd = cwd
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        with self.log.open("ab") as output:
            self._process = subprocess.Popen(
                self.command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=self._env,
                cwd=self._cwd,
                start_new_session=True,
            )

    @property
    def exit_code(self) -> int | None:
        """None while it runs (or was never started)."""
        return None if self._process is None else self._process.poll()

    def require_alive(self) -> None:
        """Raise, with the end of its log, when the process has ended."""
        if self.exit_code is not None:
            raise AssertionError(f"{' '.join(self.command[:4])} … ended with code {self.exit_code}:\n{self.log_tail()}")

    def wait(self, timeout: float) -> int:
        """Wait for the process to end by itself; its exit code."""
        wait_until(
            lambda: self.exit_code is not None,
            f"{self.command[0]} to end",
            timeout,
        )
        code = self.exit_code
        assert code is not None
        return code

    def signal_group(self, number: signal.Signals) -> None:
        if self._process is None:
            return
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, number)

    def kill(self) -> None:
        """SIGKILL to the whole group, as a power cut would do it."""
        self.signal_group(signal.SIGKILL)
        if self._process is not None:
            self._process.wait(timeout=10)

    def stop(self, timeout: float = 5.0) -> None:
        """Ask it to end, then make sure of it (and of its children)."""
        if self._process is not None and self.exit_code is None:
            self._process.terminate()
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(timeout=timeout)
        self.kill()

    def log_text(self) -> str:
        return self.log.read_text(errors="replace") if self.log.exists() else ""

    def log_tail(self, lines: int = 40) -> str:
        return "\n".join(self.log_text().splitlines()[-lines:])
