"""An Atropos environment as a user would write one: a `BaseEnv` subclass, run by `BaseEnv`'s own command line.

Run as a program by `EnvironmentProcess`. It writes every group it scored to a file, through the hook `BaseEnv` offers
for scoring, so that tests can compare what left here with what a trainer got.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Literal

from atroposlib.envs.base import APIServerConfig, BaseEnv, BaseEnvConfig

Scored = dict[str, Any]


class RecordingConfig(BaseEnvConfig):
    """What the tests vary."""

    form: Literal["rollouts", "group", "list"] = "group"
    """What an item becomes: rollouts that BaseEnv gathers into a group, a group, or a list of groups."""
    items: int | None = None
    """How many items to draw before there are no more; None means without end."""
    completion_lengths: list[int] = [8]
    """Tokens a completion, taken in turn by item."""
    every_field: bool = False
    """Fill the optional fields of a group too."""
    record: str = ""
    """The file the groups are written to, one JSON value a line."""


class RecordingEnv(BaseEnv):
    name = "recording"
    env_config_cls = RecordingConfig

    @classmethod
    def config_init(cls) -> tuple[RecordingConfig, list[APIServerConfig]]:
        return RecordingConfig(), [APIServerConfig(server_type="vllm")]

    async def setup(self) -> None:
        self.drawn = 0
        self.record = Path(self.config.record).open("a")

    async def get_next_item(self) -> int | None:
        if self.config.items is not None and self.drawn >= self.config.items:
            return None
        self.drawn += 1
        return self.drawn - 1

    async def evaluate(self, *args: Any, **kwargs: Any) -> None:
        return None

    async def collect_trajectory(self, item: int) -> tuple[Scored, list[int]]:
        [sequence] = await self._generate(item, rollouts=1)
        return {"tokens": sequence.tokens, "masks": sequence.masked_tokens, "scores": 0.0}, []

    async def collect_trajectories(self, item: int) -> tuple[Scored | list[Scored], list[int]]:
        if self.config.form == "rollouts":
            return await super().collect_trajectories(item)
        size = self.config.group_size
        if self.config.form == "group":
            return await self._group(item, size), []
        halves = [await self._group(item, size // 2) for _ in range(2)]
        for half in halves:
            half["group_overrides"] = {"group_size": size // 2}
        return [await self._group(item, size), *halves], []

    async def postprocess_histories(self, trajectories: Scored | list[Scored]) -> Scored | list[Scored]:
        groups = trajectories if isinstance(trajectories, list) else [trajectories]
        for group in groups:
            # The first rollout wins: BaseEnv throws away a group whose scores are all the same.
            group["scores"] = [1.0] + [0.0] * (len(group["tokens"]) - 1)
            self.record.write(json.dumps({**group, "env_id": self.env_id}) + "\n")
        self.record.flush()
        return trajectories

    async def _generate(self, item: int, rollouts: int) -> list[Any]:
        lengths = self.config.completion_lengths
        async with self.server.managed_server(tokenizer=self.tokenizer) as managed:
            await managed.chat_completion(
                messages=[{"role": "user", "content": f"w{3 + item % 900} w5 w7"}],
                n=rollouts,
                max_tokens=lengths[item % len(lengths)],
            )
            return managed.get_state()["nodes"]

    async def _group(self, item: int, rollouts: int) -> Scored:
        sequences = await self._generate(item, rollouts)
        group: Scored = {
            "tokens": [sequence.tokens for sequence in sequences],
            "masks": [sequence.masked_tokens for sequence in sequences],
            "inference_logprobs": [sequence.logprobs for sequence in sequences],
            "overrides": [{"item": item} for _ in sequences],
        }
        return {**group, **self._optional_fields(sequences)} if self.config.every_field else group

    def _optional_fields(self, sequences: list[Any]) -> Scored:
        lengths = [len(sequence.tokens) for sequence in sequences]
        return {
            "advantages": [[0.5] * length for length in lengths],
            "ref_logprobs": [[-1.0] * length for length in lengths],
            "messages": [[{"role": "user", "content": 'Λάχεσις 🧵 "\\\u2028'}] for _ in sequences],
            "generation_params": {"temperature": 1.0},
            "group_overrides": {"note": "µ"},
            "images": ["data:image/png;base64,AAAA" for _ in sequences],
            # [sequence][position][k], with k different from position to position and none at the first
            "distill_token_ids": [[[7] * (i % 3) for i in range(length)] for length in lengths],
            "distill_logprobs": [[[-2.0] * (i % 3) for i in range(length)] for length in lengths],
        }


if __name__ == "__main__":
    RecordingEnv.cli()
