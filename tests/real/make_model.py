"""Writes a tiny GGUF model with the true o200k vocabulary that answers every prompt with the same short sentence.

Its server counts as OpenAI's models do, overflows as llama.cpp does, and says nothing that a client could trip over.

    pip install gguf numpy splintr-rs
    python make_model.py o200k.gguf
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from itertools import pairwise

import gguf
import numpy
import splintr

TRAINED_ON = 131_072
ORDINARY = 199_998
WIDTH, HEADS = 32, 2
SAYS = ("All", " of", " it", " is", " kept", ".")
# Tokens of the chat format, after the vocabulary's own.
MARKS = ("<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|im_sep|>")
TEMPLATE = (
    "{%- if tools %}<|im_start|>system<|im_sep|>{{ tools | tojson }}<|im_end|>{% endif %}"
    "{%- for m in messages %}<|im_start|>{{ m['role'] }}<|im_sep|>"
    "{{ m['content'] if m['content'] is string else (m['content'] | tojson) }}"
    "{% if m['tool_calls'] %}{{ m['tool_calls'] | tojson }}{% endif %}<|im_end|>{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant<|im_sep|>{% endif %}"
)


def vocabulary() -> list[bytes]:
    """The ordinary tokens by their number."""
    source = splintr.Tokenizer.from_pretrained("o200k_base")
    return [source.decode_token_bytes(number) for number in range(ORDINARY)]


def printable() -> dict[int, str]:
    """The letter that stands for each byte in the files of byte-level vocabularies."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in plain]
    return {byte: chr(byte) for byte in plain} | {byte: chr(256 + place) for place, byte in enumerate(others)}


def merges(tokens: list[bytes]) -> Iterable[tuple[bytes, bytes]]:
    """The pair that each token is made of, in the order of the vocabulary."""
    rank = {token: number for number, token in enumerate(tokens)}
    for token, number in rank.items():
        parts = [token[place : place + 1] for place in range(len(token))]
        while len(parts) > 2:
            pairs = [rank.get(parts[place] + parts[place + 1], number) for place in range(len(parts) - 1)]
            first = min(range(len(pairs)), key=pairs.__getitem__)
            if pairs[first] >= number:
                break
            parts[first : first + 2] = [parts[first] + parts[first + 1]]
        if len(parts) == 2:
            yield parts[0], parts[1]


def weights(size: int, said: list[int]) -> tuple[numpy.ndarray, numpy.ndarray]:
    """Embeddings and output rows with which each token of `said` follows the one before, and the first any other."""
    embedded = numpy.zeros((size, WIDTH), numpy.float16)
    output = numpy.zeros((size, WIDTH), numpy.float16)
    embedded[:, 0] = 1
    output[said[0], 0] = 10
    for place, (token, after) in enumerate(pairwise(said), 1):
        embedded[token, place] = 3
        output[said[0], place] = -20
        output[after, place] = 10
    return embedded, output


def write(path: str) -> None:
    tokens = vocabulary()
    letters = printable()
    named = ["".join(letters[byte] for byte in token) for token in tokens]
    ends = len(named)
    number = {token: place for place, token in enumerate(tokens)}
    pairs = [" ".join("".join(letters[byte] for byte in part) for part in pair) for pair in merges(tokens)]
    file = gguf.GGUFWriter(path, "llama")
    file.add_name("tiny-o200k")
    file.add_context_length(TRAINED_ON)
    file.add_embedding_length(WIDTH)
    file.add_block_count(1)
    file.add_feed_forward_length(WIDTH)
    file.add_head_count(HEADS)
    file.add_head_count_kv(HEADS)
    file.add_layer_norm_rms_eps(1e-5)
    file.add_rope_dimension_count(WIDTH // HEADS)
    file.add_vocab_size(ends + len(MARKS))
    file.add_tokenizer_model("gpt2")
    file.add_tokenizer_pre("gpt-4o")
    file.add_token_list([*named, *MARKS])
    file.add_token_types([gguf.TokenType.NORMAL] * ends + [gguf.TokenType.CONTROL] * len(MARKS))
    file.add_token_merges(pairs)
    file.add_bos_token_id(ends)
    file.add_eos_token_id(ends + MARKS.index("<|im_end|>"))
    file.add_add_bos_token(False)
    file.add_chat_template(TEMPLATE)
    said = [*(number[word.encode()] for word in SAYS), ends + MARKS.index("<|im_end|>")]
    _tensors(file, *weights(ends + len(MARKS), said))
    file.write_header_to_file()
    file.write_kv_data_to_file()
    file.write_tensors_to_file()
    file.close()


def _tensors(file: gguf.GGUFWriter, embedded: numpy.ndarray, output: numpy.ndarray) -> None:
    """One layer that changes nothing: the answer depends on the last token alone."""
    ones, zeros = numpy.ones(WIDTH, numpy.float32), numpy.zeros((WIDTH, WIDTH), numpy.float16)
    file.add_tensor("token_embd.weight", embedded)
    file.add_tensor("output_norm.weight", ones)
    file.add_tensor("output.weight", output)
    for norm in ("attn_norm", "ffn_norm"):
        file.add_tensor(f"blk.0.{norm}.weight", ones)
    for name in ("attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down"):
        file.add_tensor(f"blk.0.{name}.weight", zeros)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("path")
    write(parser.parse_args().path)
