// The beam as a tree: a column for each position, a row for each branch.

const ROW = 38, GAP = 30, MIN_LABEL = 38, MIN_SCORE = 70; // pixels
const MAX_LABEL = 24; // characters

function showBeam({ hypotheses, nodes }) {
  replaceContent(find("hypotheses"), ...hypotheses.map(({ ids, text, score }) => {
    const row = make("li"), button = makeButton("", "", () => translate(ids));
    button.append(make("span", "score", formatNumber(score)), make("span", "", text || "(empty)"));
    button.setAttribute("aria-pressed", text === state.result.text);
    row.append(button);
    return row;
  }));
  find("tree").replaceChildren(makeTree(hypotheses, nodes));
}

// Begins the tree with the start token, which has the index 0.
function withRoot(nodes) {
  const root = { parent: null, id: START, token: "[START]", position: 0, sum: 0, score: null };
  const moved = nodes.map((node) => ({
    ...node, position: node.position + 1, parent: node.parent === null ? 0 : node.parent + 1,
  }));
  return [root, ...moved];
}

// Returns the row of each node. A branch, from a node along its best continuations, is straight and
// lies in the first row below its parent that is free in all of its columns.
function placeNodes(nodes, rankOf) {
  const children = nodes.map(() => []), rows = [], free = [];
  nodes.slice(1).forEach((node, i) => children[node.parent].push(i + 1));
  children.forEach((inner) => inner.sort((x, y) => rankOf(x) - rankOf(y)));
  const place = (first, least) => {
    const branch = [];
    for (let i = first; i !== undefined; i = children[i][0]) branch.push(i);
    const row = Math.max(least, ...branch.map((i) => free[nodes[i].position] ?? 0));
    for (const i of branch) {
      rows[i] = row;
      free[nodes[i].position] = row + 1;
    }
    for (const i of branch.reverse()) {
      for (const child of children[i].slice(1)) place(child, row + 1);
    }
  };
  place(0, 0);
  return { rows, height: Math.max(...rows) + 1 };
}

function makeTree(hypotheses, found) {
  const nodes = withRoot(found), kept = new Map(); // node -> rank of the best hypothesis through it
  hypotheses.forEach(({ node }, rank) => {
    for (let i = node + 1; i !== null; i = nodes[i].parent) if (!kept.has(i)) kept.set(i, rank);
  });
  const { rows, height } = placeNodes(nodes, (i) => kept.get(i) ?? kept.size + i);
  const columns = placeColumns(nodes);
  const classOf = (i) => (kept.get(i) === 0 ? "kept best" : kept.has(i) ? "kept" : "dropped");
  const placed = nodes.map((node, i) => ({
    ...node,
    x: columns[node.position], y: rows[i] * ROW, className: classOf(i), label: labelOf(node),
  }));
  const width = columns[MAX_DRAWN + 1] ?? columns.at(-1);
  const svg = makeSvg("svg", { width, height: height * ROW + 6 });
  const shown = numbersUpTo(placed.length).filter((i) => placed[i].position <= MAX_DRAWN);
  svg.append(...shown.slice(1).map((i) => makeEdge(placed[i], placed[placed[i].parent])));
  svg.append(...shown.map((i) => makeNode(placed, i)));
  return svg;
}

function labelOf(node) {
  const text = display(node);
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
    const width = Math.max(widthOf(labelOf(node)), node.score === null ? MIN_LABEL : MIN_SCORE);
    widths[node.position] = Math.max(widths[node.position] ?? 0, width);
  }
  const edges = [4];
  for (const width of widths) edges.push(edges.at(-1) + width + GAP);
  return edges;
}

function makeEdge({ x, y, className }, parent) {
  const start = parent.x + widthOf(parent.label) + 5, end = x - 5, bend = x - GAP + 4;
  const [top, bottom] = [parent.y + 12, y + 12];
  const line = `M${start},${top} H${Math.max(start, bend)}`;
  const curve = `C${end},${top} ${bend},${bottom} ${end},${bottom}`;
  return makeSvg("path", { d: `${line} ${curve}`, class: className });
}

function makeNode(nodes, i) {
  const { x, y, className, label, sum: total, score, parent } = nodes[i];
  const width = Math.max(widthOf(label), MIN_LABEL) + 6;
  const group = makeSvg("g", { class: `${className}${score === null ? "" : " ended"}` });
  const note = i === 0 ? "" : score === null ? total.toFixed(2) : `score ${score.toFixed(2)}`;
  group.append(
    makeSvg("rect", { x: x - 3, y, width, height: ROW - 4, rx: 4 }),
    makeSvg("text", { x, y: y + 16 }, label),
    makeSvg("text", { x, y: y + 30, class: "score" }, note.replace("-", "−")),
  );
  if (i === 0) return group;
  const last = percent(Math.exp(total - nodes[parent].sum));
  const title = `${display(nodes[i])}: probability ${last}, log probability so far `
    + formatNumber(total);
  group.append(makeSvg("title", {}, title));
  group.addEventListener("click", () => forceTokens(pathTo(nodes, i)));
  return group;
}

// The ids from the first word to a node.
function pathTo(nodes, i) {
  return i === 0 ? [] : [...pathTo(nodes, nodes[i].parent), nodes[i].id];
}
