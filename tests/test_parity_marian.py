"""Parity with Marian in Hugging Face `transformers`: logits, tokens and translations."""

import numpy as np
import pytest
from layer_contract import numpy
from marian_files import publish_tokenizers, read_sentences

from keras_transformer import Translate
from keras_transformer._utils.special_tokens import END_ID, START_ID, UNKNOWN_ID
from keras_transformer.data.batches import pad_ids
from keras_transformer.data.tokenizers import encode_source, encode_target

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
pytestmark = pytest.mark.parity

MARIAN = {
    "d_model": 24,
    "encoder_layers": 2,
    "decoder_layers": 2,
    "encoder_attention_heads": 3,
    "decoder_attention_heads": 3,
    "encoder_ffn_dim": 40,
    "decoder_ffn_dim": 40,
    "max_position_embeddings": 256,
    "scale_embedding": True,
}
EDGE_CASES = [
    "",
    " ",
    "  two   spaces  ",
    "tab\tand\nnewline\u00a0and\u200bothers",
    "日本語 and 語",
    "Ｆｕｌｌ width, ﬁ, e\u0301 and é, ½",
    "a▁b ▁ c",
    "👩‍👩‍👧 🇩🇪",
    "!?.,;:…–„“‚‘»«'\"",
    ">>deu<< a code",
    ">>deu<<without a space",
    ">>xyz<< an unknown code",
    ">> no code << at all",
    "in the >>deu<< middle",
    " >>deu<< after a space",
    ">>",
    "<<",
    ">>deu<<",
    "[UNK] [START] <s> x",
    "x" * 300,
]


def publish(folder, **changes):
    """Saves a tiny `transformers` model with random weights, with its tokenizers; returns it."""
    vocabulary = publish_tokenizers(folder, sizes=(300, 320))
    last = len(vocabulary) - 1
    ids = {"vocab_size": last + 1, "pad_token_id": last, "decoder_start_token_id": last}
    torch.manual_seed(0)
    model = transformers.MarianMTModel(transformers.MarianConfig(**MARIAN, **ids, **changes)).eval()
    # These scales make the translations differ instead of all repeating one token.
    spreads = {"norm.weight": 1.0, "shared.weight": 0.3}
    for name, parameter in model.named_parameters():
        if "embed_positions" not in name:
            spread = next((x for end, x in spreads.items() if name.endswith(end)), 0.2)
            torch.nn.init.normal_(parameter, std=spread)
    torch.nn.init.normal_(model.final_logits_bias, std=0.5)
    model.final_logits_bias[:, :2] += torch.tensor([3.5, 3.0])  # make end and unknown occur
    model.save_pretrained(folder)
    return model


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("published")


@pytest.fixture(scope="module")
def theirs(folder):
    return publish(folder, activation_function="swish")


@pytest.fixture(scope="module")
def ours(folder, theirs):
    return Translate.from_marian(folder)


@pytest.fixture(scope="module")
def tokenizer(folder, theirs):
    return transformers.MarianTokenizer.from_pretrained(folder)


@pytest.fixture(scope="module")
def pairs():
    return [sentences[-100:] for sentences in read_sentences(3000)]


def to_published_ids(tokenizer, ids):
    """Returns the published ids of ours."""
    return np.array(tokenizer.published_ids)[ids]


def rename_special_tokens(tokens):
    """Replaces the names of their special tokens with ours."""
    names = {"</s>": "[END]", "<unk>": "[UNK]"}
    return [names.get(token, token) for token in tokens]


def tensor(ids):
    return torch.from_numpy(np.ascontiguousarray(ids)).long()


@pytest.mark.parametrize("activation", ("swish", "relu", "gelu"))
def test_encoder_states_and_logits(tmp_path, pairs, activation):
    theirs = publish(tmp_path, activation_function=activation)
    ours = Translate.from_marian(tmp_path)
    source, target = (
        pad_ids([encode(tokenizer, x) for x in sentences[:20]], 60)
        for encode, tokenizer, sentences in (
            (encode_source, ours.source_tokenizer, pairs[0]),
            (encode_target, ours.target_tokenizer, pairs[1]),
        )
    )
    with torch.no_grad():
        found = theirs(
            input_ids=tensor(to_published_ids(ours.source_tokenizer, source)),
            attention_mask=tensor(source != 0),
            decoder_input_ids=tensor(to_published_ids(ours.target_tokenizer, target)),
        )
    encoded = ours.model.encode(source)
    half = MARIAN["d_model"] // 2
    order = [i + first for i in range(half) for first in (0, half)]
    states = found.encoder_last_hidden_state.numpy()[..., order]
    is_token = source != 0
    np.testing.assert_allclose(numpy(encoded)[is_token], states[is_token], atol=1e-4, rtol=1e-4)
    logits = numpy(ours.model.decode(target, encoded, source))
    expected = found.logits.numpy()[..., ours.target_tokenizer.published_ids]
    is_token = target != 0
    np.testing.assert_allclose(logits[is_token], expected[is_token], atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("no_repetition", (False, True))
@pytest.mark.parametrize("allow_unknown", (False, True))
def test_greedy_translations(ours, theirs, tokenizer, pairs, allow_unknown, no_repetition):
    """`transformers` may generate the unknown token; ours does only with `allow_unknown`."""
    inputs = tokenizer(list(pairs[0]), return_tensors="pt", padding=True)
    bad = [[tokenizer.pad_token_id], [tokenizer.unk_token_id]][: 1 if allow_unknown else 2]
    options = {"no_repeat_ngram_size": 2} if no_repetition else {}
    settings = {"num_beams": 1, "do_sample": False, "max_new_tokens": 120, **options}
    generated = theirs.generate(**inputs, **settings, bad_words_ids=bad).numpy()[:, 1:]
    found = ours.hypotheses(list(pairs[0]), allow_unknown=allow_unknown, **options)
    lines = [hypothesis for (hypothesis,) in found]
    for line, ids in zip(lines, generated, strict=True):
        ids = ids[: len(line.tokens)]  # ours may stop earlier, and theirs are padded
        assert rename_special_tokens(tokenizer.convert_ids_to_tokens(ids)) == line.tokens
        text = tokenizer.decode(ids[ids != tokenizer.unk_token_id], skip_special_tokens=True)
        assert text == line.text or "[UNK]" in line.text
    ended = sum(line.tokens[-1] == "[END]" for line in lines)
    unknown = sum("[UNK]" in line.tokens for line in lines)
    # With random weights, the unknown token may repeat itself for ever.
    endless = allow_unknown and not no_repetition
    assert (ended > 5 or endless) and ended < 95 and bool(unknown) == allow_unknown
    assert len({line.text for line in lines}) > 30


class TestTokens:
    @pytest.mark.parametrize("side", (0, 1), ids=("source", "target"))
    def test_ids_and_tokens_match(self, ours, tokenizer, pairs, side):
        our_tokenizer = (ours.source_tokenizer, ours.target_tokenizer)[side]
        for text in (*pairs[side], *pairs[1 - side][:20], *EDGE_CASES):
            given = {"text_target" if side else "text": text}
            expected = tokenizer(**given, split_special_tokens=True)["input_ids"]
            ids = encode_source(our_tokenizer, text)
            assert to_published_ids(our_tokenizer, ids).tolist() == expected, text
            names = tokenizer.convert_ids_to_tokens(expected[:-1])
            assert our_tokenizer.tokenize(text) == rename_special_tokens(names)

    def test_words_match_the_pieces(self, ours, tokenizer, pairs):
        for text in (*pairs[0], *EDGE_CASES):
            pieces = tokenizer.tokenize(text, split_special_tokens=True)
            assert ours.source_tokenizer.words(text) == pieces

    def test_detokenized_text_matches(self, ours, tokenizer, pairs):
        target = ours.target_tokenizer
        rng = np.random.default_rng(0)
        sequences = [target.encode(text) for text in (*pairs[1], *EDGE_CASES)]
        sequences += [rng.integers(END_ID + 1, target.vocab_size, 20).tolist() for _ in range(100)]
        for ids in sequences:
            ids = [i for i in ids if i != UNKNOWN_ID]
            expected = tokenizer.decode(to_published_ids(target, ids), skip_special_tokens=True)
            assert target.decode([START_ID, *ids, END_ID]) == expected

    def test_special_token_names_are_treated_as_text(self, ours, tokenizer):
        """By default, `transformers` encodes the text "</s>" as the end of the sentence."""
        assert tokenizer("</s>")["input_ids"] == [0, 0]
        assert END_ID not in ours.source_tokenizer.encode("</s>")
