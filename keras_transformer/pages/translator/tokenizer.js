// Tokenizes as the Python library `tokenizers` does, by the rules of its JSON files.

// The character classes \w and \s of that library's regular expressions differ from JavaScript's.
// Outside of brackets, \w also has the superscripts and fractions of Latin-1.
const WORD = "[\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}]", WORD_OUTSIDE = `[${WORD}²³¹¼½¾]`;
const WHITE_SPACE =
  "[\\t-\\r \\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000]";
const SPACE = "▁";
const UNKNOWN = 1;

function toRegExp({ String: text, Regex: pattern }) {
  if (text !== undefined) return text;
  const words = pattern.replace(/\[.*?\]|\\w/g, (part) => (
    part === "\\w" ? WORD_OUTSIDE : part.replace("\\w", WORD)
  ));
  return new RegExp(words.replaceAll("\\s", WHITE_SPACE), "gv");
}

// Rules of normalization: text -> text. Lower case is that of each character alone, without the
// final sigma of words.
const NORMALIZERS = {
  Sequence: ({ normalizers }) => {
    const steps = normalizers.map(makeNormalizer);
    return (text) => steps.reduce((x, step) => step(x), text);
  },
  NFC: () => (text) => text.normalize("NFC"),
  NFD: () => (text) => text.normalize("NFD"),
  Lowercase: () => (text) => Array.from(text, (character) => character.toLowerCase()).join(""),
  Strip: () => {
    const ends = toRegExp({ Regex: "^\\s+|\\s+$" });
    return (text) => text.replace(ends, "");
  },
  Replace: ({ pattern, content }) => {
    const searched = toRegExp(pattern);
    return (text) => text.replaceAll(searched, () => content);
  },
};
const makeNormalizer = (rule) => NORMALIZERS[rule.type](rule);

// Splits before each space, then isolates the matches of the pattern.
function makeSplitter({ pretokenizers: [, { pattern }] }) {
  const token = toRegExp(pattern);
  return (text) => {
    const marked = SPACE + text.replaceAll(" ", SPACE);
    return marked.split(/(?=▁)/).flatMap((word) => {
      const parts = [];
      let end = 0;
      for (const { 0: found, index } of word.matchAll(token)) {
        parts.push(word.slice(end, index), found);
        end = index + found.length;
      }
      return [...parts, word.slice(end)].filter((part) => part);
    });
  };
}

// Byte-pair encoding: merges the pair of neighbors that was learned first, then the next one.
function mergePairs(symbols, ranks) {
  for (;;) {
    let best = Infinity, place = -1;
    for (let i = 0; i + 1 < symbols.length; i++) {
      const rank = ranks.get(`${symbols[i]} ${symbols[i + 1]}`) ?? Infinity;
      if (rank < best) [best, place] = [rank, i];
    }
    if (place < 0) return symbols;
    symbols.splice(place, 2, symbols[place] + symbols[place + 1]);
  }
}

class Tokenizer {
  // The vocabulary is a list of tokens, merges one of pairs; words have no merges.
  constructor({ normalizer, pre_tokenizer, vocabulary, merges }) {
    this.normalize = makeNormalizer(normalizer);
    this.split = makeSplitter(pre_tokenizer);
    this.vocabulary = vocabulary;
    this.ids = new Map(vocabulary.map((token, id) => [token, id]));
    this.ranks = merges && new Map(merges.map((pair, rank) => [pair.join(" "), rank]));
  }

  // Returns the tokens of a sentence with their ids; unknown ones keep their text.
  encode(sentence) {
    const text = this.normalize(sentence);
    if (!text) return [];
    let tokens = this.split(text);
    if (this.ranks) tokens = tokens.flatMap((word) => mergePairs([...word], this.ranks));
    return tokens.map((token) => ({ token, id: this.ids.get(token) ?? UNKNOWN }));
  }

  // Returns the sentence of some ids, up to the end token.
  decode(ids) {
    const end = ids.indexOf(END), known = (end < 0 ? ids : ids.slice(0, end)).filter((id) => id);
    const tokens = known.map((id) => (id === UNKNOWN ? SPACE : "") + this.vocabulary[id]);
    return tokens.map((token, i) => token.replaceAll(SPACE, i ? " " : "")).join("");
  }
}
