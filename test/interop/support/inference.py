"""Mock inference: the part of vLLM's native API that Atropos environments call, with tokens drawn at random."""

from __future__ import annotations

import json
import random

from aiohttp import web

from .background import BackgroundServer
from .tokenizer import FIRST_WORD_ID, VOCABULARY_SIZE


class MockInference(BackgroundServer):
    """`POST /generate` and `GET /health`. Every completion is different, so every group can be told from any other."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    async def handle(self, request: web.Request) -> web.StreamResponse:
        if request.path == "/health":
            return web.Response()
        if request.path != "/generate":
            return web.Response(status=404)
        asked = json.loads(await request.read())
        rollouts = asked.get("n", 1)
        return web.json_response(
            {
                "logprobs": [sample(asked["max_tokens"]) for _ in range(rollouts)],
                "finish_reasons": ["stop"] * rollouts,
            }
        )


def sample(length: int) -> list[list[dict[str, float]]]:
    """One completion as vLLM reports it: `[position][0]` is `{token id: logprob}`."""
    token_ids = random.choices(range(FIRST_WORD_ID, VOCABULARY_SIZE), k=length)
    return [[{str(token): -random.expovariate(1.0)}] for token in token_ids]
