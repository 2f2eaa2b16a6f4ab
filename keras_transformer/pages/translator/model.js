// The forward pass of the Transformer, one position at a time: each position is a vector. Keys and
// values are lists with a vector per position, so that hypotheses of a beam share their beginnings.
//
// Whatever `off` contains is switched off: "positions", a layer such as "encoder 0" or "decoder 1",
// or a head such as "encoder 0 2", "causal 0 2" or "cross 0 2" (kind, layer, head).

const ACTIVATIONS = {
  relu: (x) => Math.max(x, 0),
  silu: (x) => x / (1 + Math.exp(-x)),
};

class Transformer {
  constructor(settings, tensors) {
    this.settings = settings;
    const { n, norm_first: normFirst, epsilon } = settings;
    const dense = (name) => ({ weight: tensors[`${name}.weight`], bias: tensors[`${name}.bias`] });
    const norm = (name) => ({
      gamma: tensors[`${name}.gamma`], beta: tensors[`${name}.beta`], epsilon,
    });
    const attention = (name) => Object.fromEntries(
      ["query", "key", "value", "output"].map((part) => [part, dense(`${name}.${part}`)]),
    );
    const layers = (stack, attentions) => Array.from({ length: n }, (_, i) => ({
      attentions: attentions.map((name) => attention(`${stack}.${i}.${name}`)),
      norms: [...attentions, "feed_forward"].map((name) => norm(`${stack}.${i}.${name}`)),
      inner: dense(`${stack}.${i}.feed_forward.inner`),
      outer: dense(`${stack}.${i}.feed_forward.outer`),
    }));
    this.encoder = layers("encoder", ["self_attention"]);
    this.decoder = layers("decoder", ["self_attention", "cross_attention"]);
    this.finalNorms = normFirst && { encoder: norm("encoder"), decoder: norm("decoder") };
    this.embeddings = { source: tensors.source, target: tensors.target ?? tensors.source };
    this.output = {
      weight: tensors["output.weight"] ?? this.embeddings.target,
      bias: tensors["output.bias"] ?? new Float32Array(settings.target_size),
    };
    this.activation = ACTIVATIONS[settings.activation];
    this.logits = new Float32Array(settings.target_size);
  }

  // Encodes the source: returns the keys and values that each decoder layer attends to.
  start(ids, off, trace) {
    let xs = ids.map((id, position) => this.embed("source", id, position, off));
    this.encoder.forEach((layer, i) => {
      if (!off.has(`encoder ${i}`)) xs = this.encodeLayer(layer, i, xs, off, trace);
    });
    if (this.finalNorms) xs = xs.map((x) => normalize(this.finalNorms.encoder, x));
    return this.decoder.map(({ attentions: [, { key, value }] }) => ({
      keys: xs.map((x) => linear(key, x)),
      values: xs.map((x) => linear(value, x)),
    }));
  }

  // Reads a target token: returns the logits of the next one, in memory that the next step reuses,
  // and the cache with one more position.
  step(id, position, cache, memory, off, trace) {
    let x = this.embed("target", id, position, off);
    const next = this.decoder.map((layer, i) => {
      if (off.has(`decoder ${i}`)) return cache[i];
      const [self, cross] = layer.attentions, input = this.inputOf(layer.norms[0], x);
      const { keys, values } = cache[i] ?? { keys: [], values: [] };
      const filled = {
        keys: [...keys, this.rotate(linear(self.key, input), position, off)],
        values: [...values, linear(self.value, input)],
      };
      const query = this.rotate(linear(self.query, input), position, off);
      const seen = this.attend(self, query, filled, "causal", i, off, trace);
      x = this.outputOf(layer.norms[0], x, seen);
      const crossQuery = linear(cross.query, this.inputOf(layer.norms[1], x));
      const found = this.attend(cross, crossQuery, memory[i], "cross", i, off, trace);
      x = this.outputOf(layer.norms[1], x, found);
      x = this.feedForward(layer, x);
      return filled;
    });
    if (this.finalNorms) x = normalize(this.finalNorms.decoder, x);
    return { logits: linear(this.output, x, this.logits), cache: next };
  }

  encodeLayer(layer, i, xs, off, trace) {
    const [attention] = layer.attentions, [norm] = layer.norms;
    const inputs = xs.map((x) => this.inputOf(norm, x));
    const rotated = (dense) => inputs.map((x, t) => this.rotate(linear(dense, x), t, off));
    const queries = rotated(attention.query);
    const memory = {
      keys: rotated(attention.key), values: inputs.map((x) => linear(attention.value, x)),
    };
    return xs.map((x, t) => {
      const y = this.attend(attention, queries[t], memory, "encoder", i, off, trace);
      return this.feedForward(layer, this.outputOf(norm, x, y));
    });
  }

  // Pre-norm, x + f(norm(x)), and post-norm, norm(x + f(x)), around any sub-layer f.
  inputOf(norm, x) {
    return this.finalNorms ? normalize(norm, x) : x;
  }

  outputOf(norm, x, y) {
    return this.finalNorms ? add(x, y) : normalize(norm, add(x, y));
  }

  feedForward({ norms, inner, outer }, x) {
    const norm = norms[norms.length - 1];
    const hidden = linear(inner, this.inputOf(norm, x)).map(this.activation);
    return this.outputOf(norm, x, linear(outer, hidden));
  }

  // softmax(q·k / √d_k) v in each head, then the output projection.
  attend(attention, query, { keys, values }, kind, layer, off, trace) {
    const heads = this.settings.h, size = query.length / heads;
    const width = values[0].length / heads, context = new Float32Array(values[0].length);
    const weights = Array.from({ length: heads }, (_, head) => softmax(Float32Array.from(
      keys, (key) => dot(query, head * size, key, head * size, size) / Math.sqrt(size),
    )));
    weights.forEach((row, head) => {
      if (off.has(`${kind} ${layer} ${head}`)) return;
      for (let i = head * width; i < (head + 1) * width; i++) {
        let sum = 0;
        for (let t = 0; t < row.length; t++) sum += row[t] * values[t][i];
        context[i] = sum;
      }
    });
    trace?.record(kind, layer, { query, keys, values, weights });
    return linear(attention.output, context);
  }

  // Word embeddings times √D, plus sinusoids unless attention is rotary.
  embed(side, id, position, off) {
    const { d_model: size, base } = this.settings, scale = Math.fround(Math.sqrt(size));
    const x = rowOf(this.embeddings[side], id).map((y) => y * scale);
    if (base === null || off.has("positions")) return x;
    return x.map((number, i) => {
      const angle = angleOf(position, i >> 1, size, base);
      return number + Math.fround(i % 2 ? Math.cos(angle) : Math.sin(angle));
    });
  }

  // Rotary positions: rotates entries i and i + d_k/2 of each head by an angle.
  rotate(x, position, off) {
    const { h: heads, rotary_base: base } = this.settings;
    if (base === null || off.has("positions")) return x;
    const size = x.length / heads, half = size / 2, y = new Float32Array(x.length);
    for (let i = 0; i < half; i++) {
      const angle = angleOf(position, i, size, base);
      const sine = Math.sin(angle), cosine = Math.cos(angle);
      for (let first = i; first < x.length; first += size) {
        y[first] = x[first] * cosine - x[first + half] * sine;
        y[first + half] = x[first] * sine + x[first + half] * cosine;
      }
    }
    return y;
  }
}

// t / base^(2i/D), in single precision as in Python.
function angleOf(position, i, size, base) {
  const exponent = Math.fround((-2 * i) / size);
  return Math.fround(position * Math.fround(Math.fround(base) ** exponent));
}
