"""A tokenizer made on the spot, so that no test needs the Hugging Face hub."""

from __future__ import annotations

from pathlib import Path

from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

SPECIAL_TOKENS = ["<unk>", "<s>", "</s>"]
FIRST_WORD_ID = len(SPECIAL_TOKENS)
VOCABULARY_SIZE = 1_000
CHAT_TEMPLATE = "{% for message in messages %}{{ message['content'] }} {% endfor %}"


def save_tokenizer(folder: Path) -> Path:
    """Write a tokenizer of a thousand words, `w3` … `w999`, that `AutoTokenizer` loads from `folder`."""
    words = [f"w{index}" for index in range(FIRST_WORD_ID, VOCABULARY_SIZE)]
    vocabulary = {word: index for index, word in enumerate(SPECIAL_TOKENS + words)}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        unk_token="<unk>",
        bos_token="<s>",
        eos_token="</s>",
        chat_template=CHAT_TEMPLATE,
    )
    fast.save_pretrained(folder)
    return folder
