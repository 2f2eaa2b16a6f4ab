// Attention weights: lines between two lists of tokens, a small picture of each head, and a table.

const KINDS = {
  cross: { stack: "decoder", text: "Each word of the translation looks at the sentence." },
  encoder: { stack: "encoder", text: "Each word of the sentence looks at the whole sentence." },
  causal: {
    stack: "decoder",
    text: "Each word that is read (right) looks at itself and at the words before it (left).",
  },
};
const SVG = "http://www.w3.org/2000/svg";
const MAX_DRAWN = 60; // tokens: a table of more is too large to read
const MIN_LINE = 0.03; // smaller weights have no line
const LINE_HEIGHT = 28; // pixels, as in page.css

// The tokens that look (queries) and those that are looked at (keys).
function tokensOf(kind) {
  const [source, target] = [state.source, state.steps].map((x) => x.map(display));
  const inputs = ["[START]", ...target.slice(0, -1)];
  const queries = { cross: target, encoder: source, causal: inputs }[kind];
  const keys = { cross: source, encoder: source, causal: inputs }[kind];
  return { queries: queries.slice(0, MAX_DRAWN), keys: keys.slice(0, MAX_DRAWN) };
}

// The weights of a head, a row for each query; undefined if its layer is switched off.
const weightsOf = (kind, layer, head) => state.weights[kind][layer]?.map((heads) => heads[head]);
const isKeyUnknown = (key) => state.kind !== "causal" && state.source[key]?.id === UNKNOWN;

// Begins with the head that looks at single words most of all, because it is easiest to read.
function chooseSharpestHead() {
  if (state.head !== null) return;
  let best = -1;
  state.weights.cross.forEach((rows, layer) => rows[0].forEach((_, head) => {
    const sharpness = rows.reduce((sum, heads) => sum + Math.max(...heads[head]), 0);
    if (sharpness > best) [best, state.layer, state.head] = [sharpness, layer, head];
  }));
  state.query = state.step;
}

function showAttention() {
  const { queries } = tokensOf(state.kind);
  state.query = Math.min(state.query, queries.length - 1);
  showLines();
  showHeads();
  showTable();
  selectKey(strongestKey(state.query));
}

function strongestKey(query) {
  const row = weightsOf(state.kind, state.layer, state.head)?.[query];
  return row ? row.indexOf(Math.max(...row)) : 0;
}

function chooseKind(kind) {
  if (!state.result) return; // the next translation is not complete
  Object.assign(state, { kind, query: kind === "encoder" ? 0 : state.step });
  showAttention();
}

function chooseHead(layer, head) {
  if (!state.result) return;
  Object.assign(state, { layer, head });
  showAttention();
}

// Lines

function showLines() {
  const { kind, layer, head } = state, { queries, keys } = tokensOf(kind);
  find("alignment-text").textContent = `${KINDS[kind].text} Layer ${layer + 1}, head ${head + 1}.`;
  find("left").replaceChildren(...keys.map((token, key) => {
    const item = make("li", isKeyUnknown(key) ? "unknown" : "", token);
    item.title = token;
    return item;
  }));
  find("right").replaceChildren(...queries.slice(0, state.shown).map((token, query) => {
    const item = make("li", query === state.query ? "selected" : "", token);
    item.title = token;
    item.addEventListener("pointerenter", () => drawLines(query));
    item.addEventListener("pointerleave", () => drawLines());
    item.addEventListener("click", () => selectQuery(query));
    return item;
  }));
  drawLines();
}

function selectQuery(query) {
  if (state.kind !== "encoder") {
    selectStep(query);
    return;
  }
  state.query = query;
  showAttention();
}

// Draws the lines of all queries, those of one of them more strongly.
function drawLines(pointed = state.query) {
  const svg = document.querySelector("#lines svg"), { width } = svg.getBoundingClientRect();
  const rows = weightsOf(state.kind, state.layer, state.head) ?? [], paths = [];
  rows.slice(0, Math.min(state.shown, MAX_DRAWN)).forEach((weights, query) => {
    weights.slice(0, MAX_DRAWN).forEach((weight, key) => {
      if (weight < MIN_LINE) return;
      const [y, z] = [key, query].map((i) => (i + 0.5) * LINE_HEIGHT), middle = width / 2;
      paths.push(makeSvg("path", {
        d: `M4,${y} C${middle},${y} ${middle},${z} ${width - 4},${z}`,
        "stroke-opacity": weight * (query === pointed ? 1 : 0.22),
      }));
    });
  });
  svg.replaceChildren(...paths);
}

function makeSvg(tag, attributes, text = "") {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.textContent = text;
  return element;
}

// All heads

function showHeads() {
  const { kind } = state, { stack } = KINDS[kind], { n, h } = page.settings;
  find("positions").firstElementChild.checked = !state.off.has("positions");
  find("heads").style.setProperty("--heads", h);
  replaceContent(find("heads"), ...numbersUpTo(n).map((layer) => {
    const row = make("div", "layer");
    row.append(
      makeSwitch(`${stack} ${layer}`, `${stack} layer ${layer + 1}`),
      ...numbersUpTo(h).map((head) => makeHead(kind, layer, head)),
    );
    return row;
  }));
}

function makeHead(kind, layer, head) {
  const name = `${kind} ${layer} ${head}`, canvas = make("canvas"), panel = make("div", "head");
  const { queries, keys } = tokensOf(kind), weights = weightsOf(kind, layer, head);
  const masked = dark.matches ? [40, 48, 60] : MASKED;
  drawPixels(canvas, queries.map((_, query) => keys.map((_, key) => {
    const weight = query < state.shown ? weights?.[query]?.[key] : undefined;
    return weight === undefined ? masked : shade(weight);
  })));
  const button = makeButton("", "", () => chooseHead(layer, head));
  button.append(canvas);
  button.setAttribute("aria-label", `enlarge layer ${layer + 1}, head ${head + 1}`);
  button.setAttribute("aria-pressed", layer === state.layer && head === state.head);
  panel.classList.toggle("off", state.off.has(name) || !weights);
  panel.append(button, makeSwitch(name, `head ${head + 1}`));
  return panel;
}

function makeSwitch(name, text) {
  const label = make("label", "switch"), box = make("input");
  box.type = "checkbox";
  box.checked = !state.off.has(name);
  box.dataset.name = name;
  box.addEventListener("change", () => flip(name, box.checked));
  label.append(box, ` ${text}`);
  return label;
}

function flip(name, on) {
  if (on) state.off.delete(name);
  else state.off.add(name);
  translate();
}

// One head

function showTable() {
  const { kind, layer, head } = state, { queries, keys } = tokensOf(kind);
  const rows = weightsOf(kind, layer, head), title = `Layer ${layer + 1}, head ${head + 1}`;
  find("matrix-title").textContent = title;
  find("matrix-text").textContent = rows
    ? "A row for each word that looks. Select a cell to see how its number is computed."
    : "This layer is switched off.";
  if (!rows) {
    find("table").replaceChildren();
    return;
  }
  const indices = [numbersUpTo(Math.min(queries.length, state.shown)), numbersUpTo(keys.length)];
  const weightOf = (query, key) => rows[query]?.[key] ?? null;
  find("table").replaceChildren(makeMatrix(...indices, queries, keys, weightOf, title));
  document.querySelectorAll("#table thead th").forEach((heading, key) => {
    heading.classList.toggle("unknown", isKeyUnknown(key));
  });
  fitMatrix(find("table"));
}

function chooseCell(event) {
  const cell = event.target.closest("tbody td");
  if (!cell || cell.classList.contains("masked")) return;
  state.query = Number(cell.dataset.query);
  document.querySelectorAll("#right li").forEach((item, query) => {
    item.classList.toggle("selected", query === state.query);
  });
  drawLines();
  selectKey(Number(cell.dataset.key));
}
