// The calculation of one attention weight: q·k, softmax, and the mixture of the values.

let vectors = null; // of the selected query: arrays, see `cell` in worker.js

function selectKey(key) {
  state.key = key;
  for (const cell of document.querySelectorAll("#table td[data-query]")) {
    const { query, key } = cell.dataset;
    cell.classList.toggle("selected", Number(query) === state.query && Number(key) === state.key);
  }
  showCell();
}

async function showCell() {
  const { kind, layer, head, query } = state;
  if (!state.result) return;
  vectors = await ask({ type: "cell", kind, layer, head, query });
  if (!vectors || !state.result) {
    find("calculation").replaceChildren();
    find("cell-text").textContent = "";
    return;
  }
  showCalculation();
}

function showCalculation() {
  const { queries, keys } = tokensOf(state.kind), { key } = state;
  const size = vectors.query.length, root = Math.sqrt(size);
  const products = multiply(vectors.query, vectors.keys[key]), total = sum(products);
  const scores = vectors.keys.map((x) => sum(multiply(vectors.query, x)) / root);
  const largest = maxAbs([vectors.query, vectors.keys[key]]);
  find("cell-text").textContent = `How much does “${queries[state.query]}” look at “${keys[key]}”?`;
  replaceContent(
    find("calculation"),
    make("h3", "", "1. Query times key"),
    makeVector("query", vectors.query, largest),
    makeVector("key", vectors.keys[key], largest),
    makeVector("product", products, maxAbs([products])),
    makeEntry(products),
    make("p", "", `Sum ${formatNumber(total)} / √${size} = score ${formatNumber(total / root)}`),
    make("h3", "", "2. Softmax of the scores of all words, and the mixture of their values"),
    ...mixtureRows(keys, scores),
  );
}

const sum = (numbers) => numbers.reduce((x, y) => x + y, 0);

function makeVector(name, numbers, largest, ...notes) {
  const row = make("div", "vector");
  const texts = notes.map((note) => make("span", "", note));
  row.append(make("span", "", name), makeStrip("", numbers, largest), ...texts);
  row.firstElementChild.title = name;
  return row;
}

// A slider that reads single entries of the vectors.
function makeEntry(products) {
  const label = make("label"), slider = make("input"), output = make("span");
  Object.assign(slider, { type: "range", id: "entry", min: 0, max: products.length - 1, value: 0 });
  slider.setAttribute("aria-label", "entry of the vectors");
  const read = () => {
    const i = Number(slider.value);
    const [x, y] = [vectors.query[i], vectors.keys[state.key][i]].map(formatNumber);
    output.textContent = `entry ${i + 1}: ${x} × ${y} = ${formatNumber(products[i])}`;
  };
  slider.addEventListener("input", read);
  read();
  label.append(slider, output);
  return label;
}

function mixtureRows(keys, scores) {
  const { kind, layer, head } = state, { values, weights } = vectors, largest = maxAbs(values);
  const mixedEntry = (i) => sum(weights.map((weight, key) => weight * values[key][i]));
  const mixture = values[0].map((_, i) => mixedEntry(i));
  const rows = keys.slice(0, weights.length).map((token, key) => {
    const notes = [formatNumber(scores[key]), weights[key].toFixed(3)];
    const row = makeVector(token, values[key], largest, ...notes);
    row.lastElementChild.className = "bar";
    row.lastElementChild.style.setProperty("--share", `${100 * weights[key]}%`);
    row.classList.toggle("selected", key === state.key);
    return row;
  });
  const name = state.off.has(`${kind} ${layer} ${head}`) ? "mixture (off)" : "mixture";
  const header = makeVector("word", [], 1, "score", "weight");
  header.classList.add("quiet");
  header.children[1].replaceWith(make("span", "", "value"));
  return [header, ...rows, makeVector(name, mixture, largest, "", sum(weights).toFixed(3))];
}
