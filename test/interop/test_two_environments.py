"""Two stock environments at once behind a proxy that drops the bodies of their status polls."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest
from support.environment import EnvironmentProcess
from support.groups import identities
from support.servers import Run
from support.tap import Tap
from support.trainer import Trainer
from support.waiting import STARTS_WITHIN_SECONDS, wait_until

GROUPS = {"alpha": 3, "beta": 6}
GROUP_SIZES = {"alpha": 4, "beta": 2}
BATCH_SIZE = sum(GROUPS[name] * GROUP_SIZES[name] for name in GROUPS)


def test_each_environment_sees_its_own_status(
    run: Run,
    open_tap: Callable[..., Tap],
    start_environment: Callable[..., EnvironmentProcess],
    pytestconfig: pytest.Config,
) -> None:
    """Each fills its own part of one batch. Only the label in its URL says whose poll it is (on the stock server: the
    body, which therefore stays)."""
    trainer = Trainer(run.url("trainer"), BATCH_SIZE)
    trainer.register()
    assert not trainer.poll()
    stock = pytestconfig.getoption("--stock")
    # Two proxies, so that whose poll is whose is known to the test without the labels it tests.
    taps = {name: open_tap(run.server.port, strip_get_bodies=not stock) for name in GROUPS}
    environments = {
        name: start_environment(
            name,
            run.url("environment", label=name, port=taps[name].port),
            group_size=GROUP_SIZES[name],
            items=GROUPS[name],
            min_batch_allocation=0.25 if name == "alpha" else None,
        )
        for name in GROUPS
    }

    def own_queues() -> dict[str, int]:
        for environment in environments.values():
            environment.process.require_alive()
        polls = {name: tap.exchanges("/status-env") for name, tap in taps.items()}
        return {name: seen[-1].answer["self_queue_size"] if seen else -1 for name, seen in polls.items()}

    wait_until(lambda: own_queues() == GROUPS, f"self_queue_size to be {GROUPS}", STARTS_WITHIN_SECONDS)
    assert trainer.poll()

    env_ids = {name: tap.exchanges("/register-env")[-1].answer["env_id"] for name, tap in taps.items()}
    assert len(set(env_ids.values())) == 2
    assert Counter(group["env_id"] for group in trainer.groups) == {env_ids[name]: GROUPS[name] for name in GROUPS}
    sent = [group for environment in environments.values() for group in environment.groups()]
    assert identities(trainer.groups) == identities(sent)

    # Their loops go on, and each of them sees that its groups have gone and that a step was taken.
    wait_until(lambda: set(own_queues().values()) == {0}, "both queues to be empty")
    for tap in taps.values():
        polls = tap.exchanges("/status-env")
        assert {poll.status for poll in polls} == {200}
        assert polls[0].answer["current_step"] == 0 and polls[-1].answer["current_step"] == 1
        assert polls[-1].answer["unallocated_fraction"] == 0.75
