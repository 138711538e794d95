"""Makes a tiny Llama with random weights, and a tokenizer for it, in a folder."""

from __future__ import annotations

import sys

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

SENTENCES = (
    "the quick brown fox jumps over the lazy dog",
    "fork is unsafe after a device was woken",
    "a worker starts cold and wakes its own device",
    "one two three four five six seven eight",
)
SPECIAL = ["<unk>", "<s>", "</s>"]


def tokenizer() -> PreTrainedTokenizerFast:
    """Byte pairs, learned from a few sentences."""
    learned = Tokenizer(models.BPE())
    learned.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    learned.decoder = decoders.ByteLevel()
    learned.train_from_iterator(
        SENTENCES,
        trainers.BpeTrainer(
            vocab_size=1000,
            special_tokens=SPECIAL,
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        ),
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=learned, unk_token="<unk>", bos_token="<s>", eos_token="</s>", pad_token="</s>"
    )


def model() -> LlamaForCausalLM:
    """Two layers whose weights are random, and the same each time."""
    torch.manual_seed(0)
    shape = LlamaConfig(
        vocab_size=1024,
        hidden_size=128,
        intermediate_size=256,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=2,
        head_dim=64,  # vLLM's attention on a CPU takes no smaller heads
        max_position_embeddings=512,
        bos_token_id=1,
        eos_token_id=2,
        tie_word_embeddings=False,
    )
    return LlamaForCausalLM(shape).to(torch.float32)


def main(folder: str) -> None:
    """Write both."""
    tokenizer().save_pretrained(folder)
    model().save_pretrained(folder)


if __name__ == "__main__":
    main(sys.argv[1])
