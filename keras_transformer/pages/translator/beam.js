// The beam as a tree: a column for each position, a row for each branch.

const ROW = 38, GAP = 30, MAX_LABEL = 24; // pixels, pixels, characters

function showBeam({ hypotheses, nodes }) {
  replaceContent(find("hypotheses"), ...hypotheses.map(({ ids, text, score }) => {
    const row = make("li"), button = makeButton("", "", () => forceTokens(ids));
    button.append(make("span", "score", formatNumber(score)), make("span", "", text || "(empty)"));
    button.setAttribute("aria-pressed", text === state.result.text);
    row.append(button);
    return row;
  }));
  find("tree").replaceChildren(makeTree(hypotheses, nodes));
}

// Returns the row of each node: the best branch straight on, the others below it.
function placeNodes(nodes, kept) {
  const children = new Map([[null, []]]), rows = [];
  nodes.forEach((_, i) => children.set(i, []));
  nodes.forEach((node, i) => children.get(node.parent).push(i));
  let free = 0;
  const rank = (i) => kept.get(i) ?? kept.size + i;
  const place = (i) => {
    const inner = children.get(i).sort((x, y) => rank(x) - rank(y));
    rows[i] = free;
    inner.forEach((child, k) => {
      if (k) free += 1;
      place(child);
    });
  };
  children.get(null).sort((x, y) => rank(x) - rank(y)).forEach((i, k) => {
    if (k) free += 1;
    place(i);
  });
  return { rows, height: free + 1 };
}

function makeTree(hypotheses, nodes) {
  const kept = new Map(); // node -> rank of the best hypothesis through it
  hypotheses.forEach(({ node }, rank) => {
    for (let i = node; i !== null; i = nodes[i].parent) if (!kept.has(i)) kept.set(i, rank);
  });
  const { rows, height } = placeNodes(nodes, kept), columns = placeColumns(nodes);
  const classOf = (i) => (kept.get(i) === 0 ? "kept best" : kept.has(i) ? "kept" : "dropped");
  const placed = nodes.map((node, i) => ({
    ...node, x: columns[node.position], y: rows[i] * ROW, className: classOf(i), label: labelOf(node),
  }));
  const svg = svgElement("svg", { width: columns.at(-1), height: height * ROW + 6 });
  svg.append(...placed.filter((x) => x.parent !== null).map((x) => makeEdge(x, placed[x.parent])));
  svg.append(...placed.map((_, i) => makeNode(placed, i)));
  return svg;
}

function labelOf({ id, token }) {
  const text = id === END ? "[END]" : display(token);
  return text.length > MAX_LABEL ? `${text.slice(0, MAX_LABEL - 1)}…` : text;
}

const ruler = make("canvas").getContext("2d");

function widthOf(text) {
  ruler.font = `700 14px ${getComputedStyle(document.body).fontFamily}`;
  return ruler.measureText(text).width;
}

// Returns the left edge of each column, which is as wide as its widest label, and the right edge.
function placeColumns(nodes) {
  const widths = [];
  for (const node of nodes) {
    const width = Math.max(widthOf(labelOf(node)), node.score === null ? 38 : 70);
    widths[node.position] = Math.max(widths[node.position] ?? 0, width);
  }
  const edges = [4];
  for (const width of widths) edges.push(edges.at(-1) + width + GAP);
  return edges;
}

function svgElement(tag, attributes, text = "") {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.textContent = text;
  return element;
}

function makeEdge({ x, y, className }, parent) {
  const start = parent.x + widthOf(parent.label) + 5, end = x - 5, top = parent.y + 12, bottom = y + 12;
  const bend = Math.max(start, x - GAP + 4);
  const d = `M${start},${top} H${bend} C${end},${top} ${bend},${bottom} ${end},${bottom}`;
  return svgElement("path", { d, class: className });
}

function makeNode(nodes, i) {
  const { x, y, className, label, sum: total, score, parent, token } = nodes[i];
  const group = svgElement("g", { class: `${className}${score === null ? "" : " ended"}` });
  const before = parent === null ? 0 : nodes[parent].sum, last = percent(Math.exp(total - before));
  const note = score === null ? total.toFixed(2) : `score ${score.toFixed(2)}`;
  group.append(
    svgElement("title", {}, `${display(token)}: probability ${last}, log probability so far ${formatNumber(total)}`),
    svgElement("rect", { x: x - 3, y, width: Math.max(widthOf(label), 38) + 6, height: ROW - 4, rx: 4 }),
    svgElement("text", { x, y: y + 16 }, label),
    svgElement("text", { x, y: y + 30, class: "score" }, note.replace("-", "−")),
  );
  group.addEventListener("click", () => forceTokens(pathTo(nodes, i)));
  return group;
}

function pathTo(nodes, i) {
  return i === null ? [] : [...pathTo(nodes, nodes[i].parent), nodes[i].id];
}
