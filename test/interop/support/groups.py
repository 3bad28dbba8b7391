"""Groups as JSON values: what a trainer must find in them, and how one is told from another."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from typing import Any

Group = dict[str, Any]

# Every item of a batch has all of these, null where the environment sent none: trainers index them without asking.
ITEM_KEYS = {
    "tokens",
    "masks",
    "scores",
    "advantages",
    "ref_logprobs",
    "messages",
    "generation_params",
    "inference_logprobs",
    "overrides",
    "group_overrides",
    "images",
    "env_id",
    "distill_token_ids",
    "distill_logprobs",
}


def identity(group: Group) -> str:
    """A group's whole content as text. Empty fields are left out: `[]`, `{}`, null and absent mean the same."""
    filled = {key: value for key, value in group.items() if value not in (None, [], {})}
    return json.dumps(filled, sort_keys=True)


def identities(groups: Iterable[Group]) -> Counter[str]:
    return Counter(identity(group) for group in groups)


def sequences(groups: Iterable[Group]) -> int:
    return sum(len(group["tokens"]) for group in groups)


def check_trainable(group: Group) -> None:
    """What trainers rely on without checking: the keys, equal lengths, and floats that are still floats."""
    missing = ITEM_KEYS - group.keys()
    assert not missing, f"a batch item lacks {sorted(missing)}"
    assert len(group["tokens"]) == len(group["masks"]) == len(group["scores"])
    for tokens, mask in zip(group["tokens"], group["masks"], strict=True):
        assert len(tokens) == len(mask)
        assert all(m == -100 or m == token for token, m in zip(tokens, mask, strict=True))
    assert all(isinstance(score, float) for score in group["scores"]), group["scores"]
    for tokens, logprobs in zip(group["tokens"], group["inference_logprobs"] or [], strict=False):
        assert len(tokens) == len(logprobs)
        assert all(isinstance(logprob, float) for logprob in logprobs), logprobs
