"""The special tokens and their ids, the first four of every vocabulary."""

PADDING_ID = 0
"""Id of `[PAD]`, which fills short sentences up. Masks and losses leave it out."""

UNKNOWN_ID = 1
"""Id of `[UNK]`, which stands for words outside the vocabulary."""

START_ID = 2
"""Id of `[START]`, the first token that a decoder reads."""

END_ID = 3
"""Id of `[END]`, the last token of a source and of a target."""

SPECIAL_TOKENS = ("[PAD]", "[UNK]", "[START]", "[END]")
