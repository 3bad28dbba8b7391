"""kill -9 under two running environments and a trainer: what was answered `received` arrives, and arrives once."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from itertools import count

import pytest
import requests
from support.environment import EnvironmentProcess
from support.groups import Group, identities, identity
from support.servers import Lachesis, Run
from support.tap import Tap
from support.trainer import Trainer, TrainerLoop
from support.waiting import wait_until

pytestmark = pytest.mark.lachesis_only

BATCH_SIZE = 8
GROUP_SIZES = {"alpha": 4, "beta": 2}


def test_nothing_is_lost_or_repeated(
    own_lachesis: Lachesis,
    open_tap: Callable[..., Tap],
    start_environment: Callable[..., EnvironmentProcess],
) -> None:
    run = Run(own_lachesis, "restart")
    trainer = Trainer(run.url("trainer"), BATCH_SIZE)
    trainer.register()
    trainer.poll()
    tap = open_tap(own_lachesis.port, strip_get_bodies=True)
    environments = {
        name: start_environment(
            name,
            run.url("environment", label=name, port=tap.port),
            group_size=size,
            completion_lengths=[3, 120],
            max_batches_offpolicy=4,
        )
        for name, size in GROUP_SIZES.items()
    }
    loop = TrainerLoop(trainer)
    loop.resume()
    loop.wait_for_batches(4)

    # First while everything is in motion, with a post that may or may not have got through.
    wait_until(lambda: tap.posts_under_way, "a post to be under way", interval=0.001)
    own_lachesis.kill()
    own_lachesis.start()
    loop.wait_for_batches(len(trainer.batches) + 4)

    # Then with a full queue and nobody reading: what lies in it must be there afterwards.
    loop.pause()
    full = wait_until(lambda: steady_queues(tap), "both queues to stop growing")
    polls_before = polls(tap)
    own_lachesis.kill()
    own_lachesis.start()
    wait_until(lambda: all(polls(tap)[name] >= polls_before[name] + 3 for name in GROUP_SIZES), "status polls")
    assert own_queues(tap) == full
    loop.resume()
    loop.wait_for_batches(len(trainer.batches) + 4)
    for environment in environments.values():
        environment.process.require_alive()
        environment.process.stop()
    loop.pause()

    # The tap sees a post through even when its sender has gone.
    wait_until(lambda: tap.posts_under_way == 0, "the last posts to be answered")
    received = [group for post in tap.posts() if post.status == 200 for group in post.groups]
    unanswered = [group for post in tap.posts() if post.status is None for group in post.groups]
    fillers = drain(run, trainer, received)
    check_deliveries(identities(trainer.groups), received, unanswered, fillers)
    assert {post.status for post in tap.posts()} <= {200, None}
    assert {poll.status for poll in tap.exchanges("/status-env")} == {200}


def test_a_batch_that_broke_off_is_served_again(own_lachesis: Lachesis) -> None:
    """Under the same id, so that a trainer can tell; the batch is larger than what sockets hold on to by themselves."""
    run = Run(own_lachesis, "broke-off")
    trainer = Trainer(run.url("trainer"), BATCH_SIZE)
    trainer.register()
    sent = [large_group() for _ in range(BATCH_SIZE // 2)]
    for group in sent:
        answer = requests.post(run.url("environment") + "/scored_data", json=group, timeout=30)
        assert answer.json() == {"status": "received"}, answer.text

    uncompressed = {"Accept-Encoding": "identity"}
    with requests.get(run.url("trainer") + "/batch", headers=uncompressed, stream=True, timeout=30) as response:
        assert response.raw.read(1000).startswith(b'{"batch":')
        own_lachesis.kill()
    own_lachesis.start()
    trainer.read(1)

    [batch] = trainer.batches
    assert batch.id == response.headers["Lachesis-Batch"]
    assert identities(batch.items) == identities(sent)
    assert not trainer.poll()


def large_group() -> Group:
    """Two sequences of 200,000 tokens, about 5 MB of JSON."""
    tokens = [[random.randrange(10_000, 99_999) for _ in range(200_000)] for _ in range(2)]
    return {"tokens": tokens, "masks": tokens, "scores": [1.0, 0.0]}


def own_queues(tap: Tap) -> dict[str, int]:
    """The `self_queue_size` each environment heard last."""
    return {name: tap.exchanges("/status-env", name)[-1].answer["self_queue_size"] for name in GROUP_SIZES}


def polls(tap: Tap) -> dict[str, int]:
    return {name: len(tap.exchanges("/status-env", name)) for name in GROUP_SIZES}


def steady_queues(tap: Tap) -> dict[str, int] | None:
    """What both environments heard in each of their last ten polls, if that was the same and not nothing at all."""
    seen = {}
    for name in GROUP_SIZES:
        sizes = {poll.answer["self_queue_size"] for poll in tap.exchanges("/status-env", name)[-10:]}
        if len(sizes) != 1:
            return None
        seen[name] = sizes.pop()
    return seen if any(seen.values()) else None


def drain(run: Run, trainer: Trainer, received: list[Group]) -> list[Group]:
    """Read until every received group has come out, topping the queue up with fillers so that no rest is too small."""
    fillers: list[Group] = []
    numbers = count(1)

    def drained() -> bool:
        if trainer.poll():
            return False
        if not identities(received) - identities(trainer.groups):
            return True
        number = next(numbers)
        filler = {"tokens": [[number], [number]], "masks": [[number], [number]], "scores": [1.0, 0.0]}
        answer = requests.post(run.url("environment") + "/scored_data", json=filler, timeout=10)
        assert answer.json() == {"status": "received"}, answer.text
        fillers.append(filler)
        return False

    # What has not come out by then is counted and named by `check_deliveries`.
    with suppress(TimeoutError):
        wait_until(drained, "every received group to be delivered")
    return fillers


def check_deliveries(
    delivered: Counter[str], received: list[Group], unanswered: list[Group], fillers: list[Group]
) -> None:
    """Each received group once. A post that broke off may have counted, and its sender repeats it, so it alone may
    have arrived as often as it was sent."""
    received_ids = identities(received)
    unanswered_ids = identities(unanswered)
    lost = received_ids.keys() - delivered.keys()
    assert not lost, f"{len(lost)} groups were answered `received` and never delivered"
    unknown = delivered.keys() - received_ids.keys() - unanswered_ids.keys() - identities(fillers).keys()
    assert not unknown, f"{len(unknown)} groups were delivered that nobody sent"
    sent = received_ids + unanswered_ids + Counter({identity(filler): 1 for filler in fillers})
    repeated = {group: times for group, times in delivered.items() if times > sent[group]}
    assert not repeated, f"{len(repeated)} groups were delivered more often than they were sent"
