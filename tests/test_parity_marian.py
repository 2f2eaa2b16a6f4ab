"""The numbers, tokens and translations of Marian in Hugging Face `transformers`."""

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
ODD = [
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
    """A tiny model of `transformers` with random weights, and its folder."""
    vocabulary = publish_tokenizers(folder, sizes=(300, 320))
    last = len(vocabulary) - 1
    ids = {"vocab_size": last + 1, "pad_token_id": last, "decoder_start_token_id": last}
    torch.manual_seed(0)
    model = transformers.MarianMTModel(transformers.MarianConfig(**MARIAN, **ids, **changes)).eval()
    # So that the translations differ, and not all of them repeat one word.
    spreads = {"norm.weight": 1.0, "shared.weight": 0.3}
    for name, parameter in model.named_parameters():
        if "embed_positions" not in name:
            spread = next((x for end, x in spreads.items() if name.endswith(end)), 0.2)
            torch.nn.init.normal_(parameter, std=spread)
    torch.nn.init.normal_(model.final_logits_bias, std=0.5)
    model.final_logits_bias[:, :2] += torch.tensor([2.0, 0.5])  # end and unknown: both occur
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


def published(tokenizer, ids):
    """Their ids of ours."""
    return np.array(tokenizer.published_ids)[ids]


def ours_of(tokens):
    """Our names of their tokens."""
    names = {"</s>": "[END]", "<unk>": "[UNK]"}
    return [names.get(token, token) for token in tokens]


def tensor(ids):
    return torch.from_numpy(np.ascontiguousarray(ids)).long()


@pytest.mark.parametrize("activation", ("swish", "relu", "gelu"))
def test_encoder_states_and_logits(tmp_path, pairs, activation):
    theirs = publish(tmp_path, activation_function=activation)
    ours = Translate.from_marian(tmp_path)
    source, target = (
        pad_ids([encode(tokenizer, x) for x in some[:20]], 60)
        for encode, tokenizer, some in (
            (encode_source, ours.source_tokenizer, pairs[0]),
            (encode_target, ours.target_tokenizer, pairs[1]),
        )
    )
    with torch.no_grad():
        found = theirs(
            input_ids=tensor(published(ours.source_tokenizer, source)),
            attention_mask=tensor(source != 0),
            decoder_input_ids=tensor(published(ours.target_tokenizer, target)),
        )
    encoded = ours.model.encode(source)
    half = MARIAN["d_model"] // 2
    order = [i + first for i in range(half) for first in (0, half)]
    states = found.encoder_last_hidden_state.numpy()[..., order]
    words = source != 0
    np.testing.assert_allclose(numpy(encoded)[words], states[words], atol=1e-4, rtol=1e-4)
    logits = numpy(ours.model.decode(target, encoded, source))
    expected = found.logits.numpy()[..., ours.target_tokenizer.published_ids]
    words = target != 0
    np.testing.assert_allclose(logits[words], expected[words], atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("without_repetitions", (False, True))
@pytest.mark.parametrize("allow_unknown", (False, True))
def test_greedy_translations(ours, theirs, tokenizer, pairs, allow_unknown, without_repetitions):
    """Theirs may have the unknown word in them, ours only if they are asked for it."""
    inputs = tokenizer(list(pairs[0]), return_tensors="pt", padding=True)
    bad = [[tokenizer.pad_token_id], [tokenizer.unk_token_id]][: 1 if allow_unknown else 2]
    options = {"no_repeat_ngram_size": 2} if without_repetitions else {}
    settings = {"num_beams": 1, "do_sample": False, "max_new_tokens": 90, **options}
    generated = theirs.generate(**inputs, **settings, bad_words_ids=bad).numpy()[:, 1:]
    found = ours.hypotheses(list(pairs[0]), allow_unknown=allow_unknown, **options)
    lines = [hypothesis for (hypothesis,) in found]
    for line, ids in zip(lines, generated, strict=True):
        ids = ids[: len(line.tokens)]  # ours end earlier, unless both have an end
        assert ours_of(tokenizer.convert_ids_to_tokens(ids)) == line.tokens
        text = tokenizer.decode(ids[ids != tokenizer.unk_token_id], skip_special_tokens=True)
        assert text == line.text or "[UNK]" in line.text
    ended = sum(line.tokens[-1] == "[END]" for line in lines)
    unknown = sum("[UNK]" in line.tokens for line in lines)
    assert 5 < ended < 95 and bool(unknown) == allow_unknown
    assert len({line.text for line in lines}) > 30


class TestTokens:
    @pytest.mark.parametrize("side", (0, 1), ids=("source", "target"))
    def test_are_the_same(self, ours, tokenizer, pairs, side):
        mine = (ours.source_tokenizer, ours.target_tokenizer)[side]
        for text in (*pairs[side], *pairs[1 - side][:20], *ODD):
            given = {"text_target" if side else "text": text}
            expected = tokenizer(**given, split_special_tokens=True)["input_ids"]
            ids = encode_source(mine, text)
            assert published(mine, ids).tolist() == expected, text
            names = tokenizer.convert_ids_to_tokens(expected[:-1])
            assert mine.tokenize(text) == ours_of(names)

    def test_words_are_their_pieces(self, ours, tokenizer, pairs):
        for text in (*pairs[0], *ODD):
            pieces = tokenizer.tokenize(text, split_special_tokens=True)
            assert ours.source_tokenizer.words(text) == pieces

    def test_are_joined_the_same(self, ours, tokenizer, pairs):
        target = ours.target_tokenizer
        rng = np.random.default_rng(0)
        some = [target.encode(text) for text in (*pairs[1], *ODD)]
        some += [rng.integers(END_ID + 1, target.vocab_size, 20).tolist() for _ in range(100)]
        for ids in some:
            ids = [i for i in ids if i != UNKNOWN_ID]
            expected = tokenizer.decode(published(target, ids), skip_special_tokens=True)
            assert target.decode([START_ID, *ids, END_ID]) == expected

    def test_names_of_special_tokens_are_text(self, ours, tokenizer):
        """Theirs, unless told otherwise, let who types a sentence end it."""
        assert tokenizer("</s>")["input_ids"] == [0, 0]
        assert END_ID not in ours.source_tokenizer.encode("</s>")
