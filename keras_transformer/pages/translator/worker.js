// Answers the requests of the page, one after the other: { id, type, ... }. The page cancels a
// request with { cancel: id }.

let model, source, target, trace, queue = Promise.resolve();
const cancelled = new Set();

// What a translation computed on the way: for each kind of attention and layer the query, the keys,
// the values and the weights of each position.
class Trace {
  constructor() {
    this.records = { encoder: [], causal: [], cross: [] };
  }

  record(kind, layer, record) {
    (this.records[kind][layer] ??= []).push(record);
  }

  // The weights of a kind from one query on: [layer][query][head] -> Float32Array.
  weights(kind, first = 0) {
    return this.records[kind].map((records) => records.slice(first).map((x) => x.weights));
  }
}

const tokenText = (id) => target.vocabulary[id];

function encodeSource(sentence) {
  const tokens = source.encode(sentence), limit = model.settings.source_limit;
  if (tokens.length > limit) {
    throw new Error(
      `The sentence is too long: shorten it to ${limit} tokens. It has ${tokens.length}.`,
    );
  }
  return [...tokens, { token: source.vocabulary[END], id: END }];
}

// Each is a generator of what is shown on the way; its result is the answer.
const OPERATIONS = {
  * load({ page, weights }) {
    source = new Tokenizer(page.source);
    target = new Tokenizer(page.target);
    model = new Transformer(page.settings, readTensors(page.tensors, weights));
    return null;
  },

  * tokenize({ sentence }) {
    return source.encode(sentence);
  },

  * translate({ sentence, forced, off, keep = true }) {
    const tokens = encodeSource(sentence), found = new Trace();
    yield { source: tokens };
    if (tokens.length === 1) return { ids: [], tokens: [], text: "", score: 0 };
    const request = { ids: tokens.map((x) => x.id), forced, off: new Set(off) };
    const search = greedySearch(model, { ...request, limit: model.settings.limit }, found);
    let step = search.next(), position = 0;
    yield { encoder: found.weights("encoder") };
    for (; !step.done; step = search.next(), position++) {
      const { id, probability, top } = step.value;
      yield {
        id, token: tokenText(id), probability,
        top: top.map((x) => ({ ...x, token: tokenText(x.id) })),
        causal: found.weights("causal", position),
        cross: found.weights("cross", position),
      };
    }
    if (keep) trace = found;
    return describe(step.value[0]);
  },

  * beam({ sentence, ...options }) {
    const tokens = encodeSource(sentence), { limit } = model.settings;
    if (tokens.length === 1) return { hypotheses: [], nodes: [] };
    const request = { ...options, ids: tokens.map((x) => x.id), off: new Set(options.off), limit };
    const found = yield* beamSearch(model, request);
    return {
      hypotheses: found.map(describe),
      nodes: found.nodes.map((node) => ({ ...node, token: tokenText(node.id) })),
    };
  },

  // The numbers of one query of one head in the last translation.
  * cell({ kind, layer, head, query }) {
    const record = trace?.records[kind][layer]?.[query];
    if (!record) return null;
    const part = (x) => {
      const size = x.length / model.settings.h;
      return [...x.slice(head * size, (head + 1) * size)];
    };
    return {
      query: part(record.query),
      keys: record.keys.map(part),
      values: record.values.map(part),
      weights: [...record.weights[head]],
    };
  },
};

const describe = ({ ids, score, node }) => ({
  ids, score, node, tokens: ids.map(tokenText), text: target.decode(ids),
});

// Lets the messages that have arrived be handled. A timer would wait for 4 milliseconds.
const channel = new MessageChannel();
const pause = () => new Promise((resolve) => {
  channel.port1.onmessage = resolve;
  channel.port2.postMessage(null);
});

async function answer(request) {
  const { id, type } = request;
  try {
    const operation = OPERATIONS[type](request);
    let step = operation.next();
    for (; !step.done && !cancelled.has(id); step = operation.next()) {
      postMessage({ id, step: step.value });
      await pause();
    }
    postMessage({ id, result: step.done ? step.value : null });
  } catch (error) {
    postMessage({ id, error: error.message });
  }
  cancelled.delete(id);
}

globalThis.onmessage = ({ data }) => {
  if (data.cancel !== undefined) cancelled.add(data.cancel);
  else queue = queue.then(() => answer(data));
};
