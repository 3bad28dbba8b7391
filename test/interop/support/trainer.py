"""The trainer's side, call for call as Atropos' example trainer makes them, through `requests`."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Any

import requests

from .groups import Group, check_trainable, sequences
from .waiting import STARTS_WITHIN_SECONDS, wait_until

ATTEMPTS = 5
POLL_SECONDS = 0.1


@dataclass
class Batch:
    """A batch and the id its response named (a made-up one on the stock server, which names none)."""

    id: str
    items: list[Group]


class Trainer:
    """Registers and reads batches. `url` carries the credentials; nothing else here knows of them.

    A batch that is served twice under one id is counted once, and must be the same batch.
    """

    def __init__(self, url: str, batch_size: int) -> None:
        self.url = url
        self.batch_size = batch_size
        self.batches: list[Batch] = []
        self.served_again = 0

    @property
    def groups(self) -> list[Group]:
        return [group for batch in self.batches for group in batch.items]

    def info(self) -> Any:
        return self._call("GET", "/info", timeout=2)

    def register(self, num_steps: int = 100) -> None:
        registration = {
            "wandb_group": "interop",
            "wandb_project": "interop",
            "batch_size": self.batch_size,
            "max_token_len": 4096,
            "checkpoint_dir": "",
            "save_checkpoint_interval": 0,
            "starting_step": 0,
            "num_steps": num_steps,
        }
        answer = self._call("POST", "/register", timeout=10, json=registration)
        assert isinstance(answer["uuid"], int) and answer["uuid"] >= 0, answer
        assert self.info() == {"batch_size": self.batch_size, "max_token_len": 4096}

    def poll(self) -> bool:
        """One `GET /batch`; whether there was a batch."""
        response = self._request("GET", "/batch", timeout=10)
        answer = response.json()
        assert answer.get("status") != "error", answer
        if answer["batch"] is None:
            return False
        batch = Batch(response.headers.get("Lachesis-Batch", f"#{len(self.batches)}"), answer["batch"])
        earlier = next((known for known in self.batches if known.id == batch.id), None)
        if earlier is not None:
            assert earlier.items == batch.items, f"batch {batch.id} changed when it was served again"
            self.served_again += 1
            return True
        assert sequences(batch.items) == self.batch_size
        for group in batch.items:
            check_trainable(group)
        self.batches.append(batch)
        return True

    def read(self, batches: int, timeout: float = STARTS_WITHIN_SECONDS) -> None:
        """Poll until so many batches have been read in all."""

        def enough() -> bool:
            self.poll()
            return len(self.batches) >= batches

        wait_until(enough, f"batch {batches} (have {len(self.batches)})", timeout, POLL_SECONDS)

    def _call(self, method: str, path: str, **options: Any) -> Any:
        return self._request(method, path, **options).json()

    def _request(self, method: str, path: str, **options: Any) -> requests.Response:
        attempt = 1
        while True:
            try:
                response = requests.request(method, self.url + path, **options)
                response.raise_for_status()
                return response
            except requests.HTTPError:
                raise
            except requests.RequestException:
                # The example trainer tries each call five times; what broke off half-way raises here too.
                if attempt == ATTEMPTS:
                    raise
                attempt += 1


class TrainerLoop:
    """A trainer that keeps polling on a thread, so that a server can die under it at any moment.

    It goes on when the server is away, as a trainer under a supervisor would; anything else it meets is raised by
    `check`.
    """

    def __init__(self, trainer: Trainer) -> None:
        self.trainer = trainer
        self.failure: BaseException | None = None
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None

    def resume(self) -> None:
        self._stopping.clear()
        self._thread = threading.Thread(target=self._poll, daemon=True)
        self._thread.start()

    def pause(self) -> None:
        """Return once no call is under way any more."""
        self._stopping.set()
        if self._thread is not None:
            self._thread.join(timeout=60)
            assert not self._thread.is_alive(), "a call of the trainer never came back"
        self.check()

    def check(self) -> None:
        if self.failure is not None:
            raise self.failure

    def wait_for_batches(self, batches: int, timeout: float = STARTS_WITHIN_SECONDS) -> None:
        def enough() -> bool:
            self.check()
            return len(self.trainer.batches) >= batches

        wait_until(enough, f"batch {batches}", timeout)

    def _poll(self) -> None:
        while not self._stopping.wait(POLL_SECONDS):
            try:
                self.trainer.poll()
            except (requests.ConnectionError, requests.Timeout, requests.exceptions.ChunkedEncodingError):
                continue
            except BaseException as error:  # handed to the test's thread by `check`
                self.failure = error
                return
