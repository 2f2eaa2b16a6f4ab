"""The engines that search for translations, and what each of them can do."""

import dataclasses
import functools

from keras_transformer._utils.checks import check_choice
from keras_transformer._utils.extras import import_ctranslate2
from keras_transformer._utils.reading import excerpt
from keras_transformer.inference.options import EXTRA_LENGTH, SearchOptions
from keras_transformer.runs.data_settings import MAX_SOURCE_TOKENS

ENGINES = ("auto", "numpy", "layers", "ctranslate2")
# The size of CTranslate2's table of position encodings, 2 MB for d_model 256. It rejects longer
# sequences.
MAX_POSITIONS = 2 * MAX_SOURCE_TOKENS + EXTRA_LENGTH
# The fields of `SearchOptions` that CTranslate2 serves as the other engines do. Its random numbers
# are others, so it does not sample.
_SERVED = {
    "beam_size",
    "n_best",
    "length_penalty",
    "min_length_ratio",
    "max_length_ratio",
    "no_repeat_ngram_size",
    "allow_unknown",
}


def check_engine(engine, compute_type=None, jit_compile=None):
    """Raises an error unless the engine exists, is installed, and takes the other arguments.

    Args:
        engine: one of `ENGINES`.
        compute_type: number type of CTranslate2; None for float32.
        jit_compile: whether XLA compiles the layers; None for the default.

    Raises:
        ImportError: if the engine is not installed.
        ValueError: if an argument is unknown, or belongs to another engine.
    """
    check_choice(ENGINES, engine=engine)
    if jit_compile is not None and engine not in ("auto", "layers"):
        raise ValueError(
            'Only the engine "layers" is compiled: leave out `jit_compile`. '
            f"Received: {engine=}, {jit_compile=}"
        )
    if engine == "ctranslate2":
        types = sorted(import_ctranslate2().get_supported_compute_types("cpu"))
        check_choice((None, *types), compute_type=compute_type)
    elif compute_type is not None:
        raise ValueError(
            '`compute_type` is for engine="ctranslate2": choose it, too, or leave the type out. '
            f"Received: {engine=}, {compute_type=}"
        )


@functools.lru_cache
def check_served(options):
    """Raises a ValueError if CTranslate2 lacks one of the `SearchOptions` that are set."""
    for field in dataclasses.fields(SearchOptions):
        value = getattr(options, field.name)
        if field.name not in _SERVED and value != field.default:
            raise ValueError(
                f'The engine "ctranslate2" has no `{field.name}`: leave it out, or choose the '
                f'engine "numpy" or "layers". Received: {field.name}={excerpt(value)}'
            )
