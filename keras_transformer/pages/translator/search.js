// Greedy search and beam search for one sentence, with the results of `Translate` in Python. Each
// is a generator that yields after every position, so that the page can show it and stop it.

const PADDING = 0, START = 2, END = 3; // UNKNOWN is in tokenizer.js
const FORBIDDEN = [PADDING, UNKNOWN, START];
const SHOWN = 12; // number of next words to show

// Twice the number of source tokens without the end token, and 8.
const maxLength = ({ ids, limit }) => Math.min(2 * (ids.length - 1) + 8, limit ?? Infinity);

// The best k tokens that may follow: the forced one, or any but the forbidden ones.
function bestTokens(logits, k, forced) {
  return forced === undefined ? topK(logits, k, (id) => !FORBIDDEN.includes(id)) : [forced];
}

// Takes the most probable token at each position; begins with the tokens in `forced`. Yields each
// token with its log probability and the most probable ones.
function* greedySearch(model, request, trace) {
  const { ids, forced = [], off = new Set() } = request;
  const memory = model.start(ids, off, trace), length = maxLength(request);
  const tokens = [];
  let cache = [], score = 0, last = START;
  while (tokens.length < length && last !== END) {
    const step = model.step(last, tokens.length, cache, memory, off, trace), { logits } = step;
    const sum = logSumExp(logits), logProbability = (id) => Math.fround(logits[id] - sum);
    const describe = (id) => ({ id, probability: Math.exp(logProbability(id)) });
    [last] = bestTokens(logits, 1, forced[tokens.length]);
    ({ cache } = step);
    tokens.push(last);
    score = Math.fround(score + logProbability(last));
    yield { ...describe(last), top: topK(logits, SHOWN).map(describe) };
  }
  return [{ ids: tokens, score }];
}

// Extends the best hypotheses by one token at a time until none can improve the result. Yields
// after each position; the result has the property `nodes`, the tree of all hypotheses.
//
// A finished hypothesis keeps its place in the beam, and the greedy one is never dropped.
function* beamSearch(model, request) {
  const { ids, forced = [], off = new Set(), beamSize, nBest = 1 } = request;
  const alpha = Math.fround(request.lengthPenalty ?? 0.6), length = maxLength(request);
  const memory = model.start(ids, off), maxPenalty = penalty(length, alpha), nodes = [];
  const first = { ids: [], sum: 0, score: -Infinity, ended: false, greedy: true };
  let beam = [{ ...first, cache: [], node: null }];
  for (let position = 0; position < length; position++) {
    const options = { memory, off, forced: forced[position], beamSize };
    const candidates = beam.flatMap((hypothesis) => hypothesis.ended
      ? [{ ...hypothesis, rank: Infinity }]
      : extensions(model, hypothesis, position, options));
    beam = sorted(candidates, (x) => x.rank).slice(0, beamSize);
    for (const hypothesis of beam) {
      if (hypothesis.ended) continue;
      const last = hypothesis.ids[position];
      hypothesis.ended = last === END || position + 1 >= length;
      hypothesis.greedy &&= !hypothesis.ended;
      const { sum, ended, node } = hypothesis;
      if (ended) hypothesis.score = Math.fround(sum / penalty(position + 1, alpha));
      const score = ended ? hypothesis.score : null;
      nodes.push({ parent: node, id: last, position, sum, score });
      hypothesis.node = nodes.length - 1;
    }
    yield { position };
    // The score of an open hypothesis can be at most its present sum at the maximum length.
    const open = beam.filter((x) => !x.ended).map((x) => Math.fround(x.sum / maxPenalty));
    const bound = Math.max(...open, -Infinity);
    const toBeat = sorted(beam, (x) => x.score)[nBest - 1]?.score ?? -Infinity;
    if (!(bound > toBeat)) break;
  }
  const best = sorted(beam, (x) => x.score).slice(0, nBest).filter((x) => x.score > -Infinity);
  return Object.assign(best.map(({ ids, score, node }) => ({ ids, score, node })), { nodes });
}

// The best extensions of a hypothesis by one token.
function extensions(model, hypothesis, position, { memory, off, forced, beamSize }) {
  const last = hypothesis.ids[position - 1] ?? START;
  const { logits, cache } = model.step(last, position, hypothesis.cache, memory, off);
  const sum = logSumExp(logits);
  return bestTokens(logits, beamSize, forced).map((id, i) => {
    const total = Math.fround(hypothesis.sum + Math.fround(logits[id] - sum));
    const greedy = hypothesis.greedy && i === 0;
    return {
      ...hypothesis, ids: [...hypothesis.ids, id], sum: total, cache, greedy,
      rank: greedy ? Infinity : total,
    };
  });
}

// Equation 14 of "Google's Neural Machine Translation System" (Wu et al., 2016).
const penalty = (length, alpha) => Math.fround(Math.fround((5 + length) / 6) ** alpha);

// The largest first; of equal ones the first. `Infinity - Infinity` would be no number.
const sorted = (items, key) => [...items].sort((x, y) => (key(y) > key(x)) - (key(y) < key(x)));
