"""The four ids every vocabulary begins with."""

PADDING_ID, UNKNOWN_ID, START_ID, END_ID = range(4)
SPECIAL_TOKENS = ("[PAD]", "[UNK]", "[START]", "[END]")
