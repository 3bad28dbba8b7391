"""Fixtures: a server with a run of the test's own on it, and the real clients pointed at that run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from support.environment import EnvironmentProcess
from support.inference import MockInference
from support.servers import Lachesis, Run, Stock
from support.tap import Tap
from support.tokenizer import save_tokenizer

LOG_LINES = 40


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--stock",
        action="store_true",
        help="run against atroposlib's own server, to check the tests themselves",
    )


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "lachesis_only: needs what the stock server never had")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not config.getoption("--stock"):
        return
    skip = pytest.mark.skip(reason="the stock server has no tokens, labels or durable state")
    for item in items:
        if "lachesis_only" in item.keywords:
            item.add_marker(skip)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Any:
    """Show the end of every log of a failed test: the interesting half of a failure is in another process."""
    report = yield
    folder = getattr(item, "funcargs", {}).get("tmp_path")
    if report.failed and folder is not None:
        shared = item.config.stash.get(SHARED_FOLDER, None)
        for log in sorted([*folder.rglob("*.log"), *(shared.rglob("*.log") if shared else [])]):
            tail = log.read_text(errors="replace").splitlines()[-LOG_LINES:]
            report.sections.append((f"{log.parent.name}/{log.name}", "\n".join(tail)))
    return report


SHARED_FOLDER = pytest.StashKey[Path]()


@pytest.fixture(scope="session")
def shared_lachesis(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Iterator[Lachesis]:
    """One server for all tests that leave it running; each has a run of its own."""
    folder = tmp_path_factory.mktemp("shared")
    request.config.stash[SHARED_FOLDER] = folder
    server = Lachesis(folder)
    try:
        server.start()
        yield server
    finally:
        server.stop()


@pytest.fixture
def own_lachesis(tmp_path: Path) -> Iterator[Lachesis]:
    """A server the test may kill."""
    server = Lachesis(tmp_path)
    try:
        server.start()
        yield server
    finally:
        server.stop()


@pytest.fixture
def run(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Run]:
    """An empty run. The stock server has only one, so there it comes with a server."""
    name = request.node.originalname.removeprefix("test_").replace("_", "-")
    if not request.config.getoption("--stock"):
        yield Run(request.getfixturevalue("shared_lachesis"), name)
        return
    server = Stock(tmp_path)
    try:
        server.start()
        yield Run(server, name)
    finally:
        server.stop()


@pytest.fixture
def open_tap() -> Iterator[Callable[..., Tap]]:
    """Opens proxies in front of a server: `open_tap(run.server.port, strip_get_bodies=True)`."""
    taps: list[Tap] = []

    def open_one(upstream_port: int, strip_get_bodies: bool = False) -> Tap:
        tap = Tap(upstream_port, strip_get_bodies)
        tap.start()
        taps.append(tap)
        return tap

    yield open_one
    for tap in taps:
        tap.stop()


@pytest.fixture(scope="session")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_tokenizer(tmp_path_factory.mktemp("tokenizer"))


@pytest.fixture(scope="session")
def inference() -> Iterator[MockInference]:
    server = MockInference()
    server.start()
    yield server
    server.stop()


@pytest.fixture
def start_environment(
    tmp_path: Path, tokenizer: Path, inference: MockInference
) -> Iterator[Callable[..., EnvironmentProcess]]:
    """Starts environments: `start_environment(name, url, group_size=4, …)`, the rest being its config."""
    started: list[EnvironmentProcess] = []

    def start_one(name: str, url: str, **config: Any) -> EnvironmentProcess:
        environment = EnvironmentProcess(name, tmp_path / name, url, inference.url, tokenizer, config)
        environment.process.start()
        started.append(environment)
        return environment

    yield start_one
    for environment in started:
        environment.process.kill()
