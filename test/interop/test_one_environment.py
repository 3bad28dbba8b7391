"""One stock environment and one trainer: what the environment scored is what the trainer gets, each group once."""

from __future__ import annotations

from collections.abc import Callable

from support.environment import EnvironmentProcess
from support.groups import identities
from support.servers import Run
from support.tap import Tap
from support.trainer import Trainer
from support.waiting import STARTS_WITHIN_SECONDS, wait_until

GZIP_FROM_BYTES = 1024


def test_environment_connects_directly_and_ends_by_itself(
    run: Run, start_environment: Callable[..., EnvironmentProcess]
) -> None:
    """BaseEnv gathers the rollouts, W&B is on (in its disabled mode), and its main loop ends at its last step."""
    trainer = Trainer(run.url("trainer"), batch_size=4)
    trainer.register()
    trainer.poll()
    environment = start_environment(
        "direct",
        run.url("environment"),
        form="rollouts",
        group_size=2,
        items=12,
        total_steps=5,
        max_batches_offpolicy=20,
        use_wandb=True,
    )

    trainer.read(6)

    assert environment.process.wait(timeout=60) == 0
    assert identities(trainer.groups) == identities(environment.groups())


def test_environment_that_comes_first_waits_for_the_trainer(
    run: Run,
    open_tap: Callable[..., Tap],
    start_environment: Callable[..., EnvironmentProcess],
) -> None:
    """It must hear "wait", not a batch size of -1, which would end it. Then every field a group can have arrives."""
    tap = open_tap(run.server.port)
    environment = start_environment(
        "early",
        run.url("environment", port=tap.port),
        group_size=4,
        items=8,
        completion_lengths=[300, 1],
        every_field=True,
        max_batches_offpolicy=20,
    )

    def told_to_wait() -> bool:
        environment.process.require_alive()
        return bool(tap.exchanges("/register-env"))

    wait_until(told_to_wait, "the environment to ask for its registration", STARTS_WITHIN_SECONDS)
    assert all(e.answer["status"] != "success" for e in tap.exchanges("/register-env"))
    trainer = Trainer(run.url("trainer"), batch_size=8)
    trainer.register()
    trainer.read(4)

    assert identities(trainer.groups) == identities(environment.groups())
    environment.process.require_alive()


def test_large_groups_are_gzipped_and_small_ones_are_not(
    run: Run,
    open_tap: Callable[..., Tap],
    start_environment: Callable[..., EnvironmentProcess],
) -> None:
    trainer = Trainer(run.url("trainer"), batch_size=4)
    trainer.register()
    trainer.poll()
    tap = open_tap(run.server.port)
    environment = start_environment(
        "gzip",
        run.url("environment", port=tap.port),
        group_size=2,
        items=12,
        completion_lengths=[2, 500],
        max_batches_offpolicy=20,
    )

    trainer.read(6)

    assert identities(trainer.groups) == identities(environment.groups())
    posts = wait_until(lambda: len(tap.posts()) == 12 and tap.posts(), "the answers to all posts")
    assert all(post.answer == {"status": "received"} for post in posts)
    gzipped = {len(post.body) >= GZIP_FROM_BYTES: post.content_encoding for post in posts}
    assert gzipped == {True: "gzip", False: None}


def test_lists_of_groups_and_groups_of_other_sizes(
    run: Run,
    open_tap: Callable[..., Tap],
    start_environment: Callable[..., EnvironmentProcess],
) -> None:
    """Each item is a list of one full group and two halves, which are held back until they make a full one."""
    trainer = Trainer(run.url("trainer"), batch_size=8)
    trainer.register()
    trainer.poll()
    tap = open_tap(run.server.port)
    environment = start_environment(
        "list",
        run.url("environment", port=tap.port),
        form="list",
        group_size=4,
        items=4,
        completion_lengths=[4, 200],
        max_batches_offpolicy=20,
    )

    trainer.read(4)

    assert identities(trainer.groups) == identities(environment.groups())
    posts = wait_until(lambda: len(tap.posts()) == 4 and tap.posts(), "the answers to all posts")
    assert {post.path.rsplit("/", 1)[-1] for post in posts} == {"scored_data_list"}
    for post in posts:
        assert post.answer["status"] == "received" and post.answer["groups_processed"] == 3
        assert post.answer["buffered"] == 2
