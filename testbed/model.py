"""A model folder for Dynamo's mocker, written on the spot: a tokenizer and settings, no weights.

The mocker invents token ids between 1,000 and 2,000, so every id up to there must decode to a word.
Prompts and answers are made of the same words, one token each: a prompt's length in tokens is its
number of words.
"""

import json
from collections.abc import Sequence
from pathlib import Path

MODEL_NAME = "testbed"
VOCABULARY_SIZE = 4096
"""Number of token ids; the mocker's highest id is 2,000."""

_UNKNOWN, _END = "<unk>", "</s>"
# The user's words and nothing else reach the worker, so that prompts share exactly the prefixes the
# load gives them.
_CHAT_TEMPLATE = "{% for message in messages %}{{ message['content'] }}{% endfor %}"


def word(token_id: int) -> str:
    """The one word that stands for ``token_id`` (2 <= token_id < VOCABULARY_SIZE)."""
    return f"w{token_id}"


def text(token_ids: Sequence[int]) -> str:
    """The prompt that the model's tokenizer turns back into ``token_ids``."""
    return " ".join(word(token_id) for token_id in token_ids)


def write_model(folder: Path) -> Path:
    """Write the model's files into ``folder`` (made if absent) and return it."""
    vocabulary = {_UNKNOWN: 0, _END: 1}
    vocabulary |= {word(token_id): token_id for token_id in range(2, VOCABULARY_SIZE)}
    special = [
        {"id": token_id, "content": content, "special": True}
        | dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
        for token_id, content in enumerate((_UNKNOWN, _END))
    ]
    files: dict[str, object] = {
        "tokenizer.json": {
            "version": "1.0",
            "truncation": None,
            "padding": None,
            "added_tokens": special,
            "normalizer": None,
            "pre_tokenizer": {"type": "WhitespaceSplit"},
            "post_processor": None,
            "decoder": None,
            "model": {"type": "WordLevel", "vocab": vocabulary, "unk_token": _UNKNOWN},
        },
        "tokenizer_config.json": {
            "tokenizer_class": "PreTrainedTokenizerFast",
            "unk_token": _UNKNOWN,
            "eos_token": _END,
            "chat_template": _CHAT_TEMPLATE,
        },
        # A small Llama's shape: the mocker derives the size of a token's KV cache from it.
        "config.json": {
            "architectures": ["LlamaForCausalLM"],
            "model_type": "llama",
            "torch_dtype": "bfloat16",
            "vocab_size": VOCABULARY_SIZE,
            "max_position_embeddings": 131072,
            "num_hidden_layers": 32,
            "num_attention_heads": 32,
            "num_key_value_heads": 8,
            "hidden_size": 4096,
            "head_dim": 128,
            "eos_token_id": 1,
        },
        "generation_config.json": {"eos_token_id": 1},
    }
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (folder / name).write_text(json.dumps(content), encoding="utf-8")
    return folder
