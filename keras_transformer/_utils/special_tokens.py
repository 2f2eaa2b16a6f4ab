"""The special tokens and their ids, the first four of every vocabulary."""

PADDING_ID, UNKNOWN_ID, START_ID, END_ID = range(4)
SPECIAL_TOKENS = ("[PAD]", "[UNK]", "[START]", "[END]")
