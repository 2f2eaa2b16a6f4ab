"use strict";

// What the pages draw with: elements, weights as colors and tables, vectors as strips.

// Weights 0 to 1 in one hue, whose lightness falls evenly: the "Blues" of the project's plots.
const BLUES = [[247, 251, 255], [198, 219, 239], [107, 174, 214], [33, 113, 181], [8, 48, 107]];
let palette = BLUES; // of weights on a dark page another one
const MASKED = [233, 235, 238]; // the color of a key that the query may not attend to
const DARK = 0.66; // white text is more legible on the colors of larger weights
const MIN_WEIGHT = 0.01; // smaller weights are not drawn
const CELL_SIZES = [22, 44]; // minimum and maximum, in pixels

const find = (id) => document.getElementById(id);
const numbersUpTo = (count) => Array.from({ length: count }, (_, i) => i);
const formatNumber = (number) => number.toFixed(3).replace("-", "−");

function make(tag, className = "", text = "") {
  const element = document.createElement(tag);
  element.className = className;
  element.textContent = text; // never as HTML: tokens are user input
  return element;
}

function makeButton(className, text, action) {
  const button = make("button", className, text);
  button.type = "button";
  button.addEventListener("click", action);
  return button;
}

// Moves the focus to another element of a section, to which Tab then returns.
function moveTo(event, next) {
  if (!next) return;
  event.preventDefault();
  next.closest("section").querySelector('[tabindex="0"]').tabIndex = -1;
  next.tabIndex = 0;
  next.focus();
}

// Weights as colors

function shade(weight) {
  const place = Math.min(Math.max(weight, 0), 1) * (palette.length - 1);
  const index = Math.min(Math.floor(place), palette.length - 2), share = place - index;
  return palette[index].map((x, i) => Math.round(x + share * (palette[index + 1][i] - x)));
}

function drawPixels(canvas, colors) {
  canvas.width = colors[0].length;
  canvas.height = colors.length;
  const image = new ImageData(canvas.width, canvas.height);
  colors.flat().forEach((color, i) => image.data.set([...color, 255], 4 * i));
  canvas.getContext("2d").putImageData(image, 0, 0);
}

// A table of weights with a row for each query and a column for each key. `weightOf(query, key)` is
// null where the key is masked.
function makeMatrix(queries, keys, queryTokens, keyTokens, weightOf, label) {
  const table = make("table");
  table.setAttribute("role", "grid");
  table.setAttribute("aria-label", label);
  const header = table.createTHead().insertRow(), body = table.createTBody();
  header.append(make("td"), ...keys.map((key) => makeHeading("col", keyTokens[key])));
  header.firstElementChild.style.outline = "none";
  for (const query of queries) {
    const row = body.insertRow();
    row.append(makeHeading("row", queryTokens[query]));
    row.append(...keys.map((key) => makeCell(query, key, weightOf(query, key))));
  }
  body.querySelector("td").tabIndex = 0;
  return table;
}

function makeHeading(scope, token) {
  const heading = make("th");
  heading.append(make("span", "", token));
  heading.scope = scope;
  heading.title = token;
  return heading;
}

function makeCell(query, key, weight) {
  const text = weight < MIN_WEIGHT ? "" : weight.toFixed(2).replace(/^0/, "").replace("1.00", "1");
  const cell = make("td", weight === null ? "masked" : weight > DARK ? "dark" : "", text);
  if (weight !== null) cell.style.backgroundColor = `rgb(${shade(weight)})`;
  Object.assign(cell.dataset, { query, key });
  cell.tabIndex = -1;
  return cell;
}

// Makes the cells of the table in a section as large as its width allows.
function fitMatrix(section) {
  const body = section.querySelector("tbody"), width = section.clientWidth;
  if (!body || !width) return;
  const left = body.rows[0].cells[0].getBoundingClientRect().width;
  const size = (width - left - 4) / (body.rows[0].cells.length - 1) - 1;
  const [least, most] = CELL_SIZES;
  section.style.setProperty("--cell", `${Math.min(Math.max(size, least), most)}px`);
}

// Moves the focus from cell to cell with the arrow keys.
function moveCell(event) {
  const cell = event.target.closest("tbody td");
  if (!cell) return;
  const row = cell.parentElement, { cellIndex } = cell;
  moveTo(event, {
    ArrowLeft: cellIndex > 1 && row.cells[cellIndex - 1],
    ArrowRight: row.cells[cellIndex + 1],
    ArrowUp: row.previousElementSibling?.cells[cellIndex],
    ArrowDown: row.nextElementSibling?.cells[cellIndex],
  }[event.key]);
}

// Vectors

const multiply = (query, key) => query.map((number, i) => number * key[i]);
const maxAbs = (vectors) => Math.max(...vectors.map((x) => Math.max(...x.map(Math.abs))));

// Draws a vector as a row of pixels, which the style sheet stretches to the width of the column.
function makeStrip(className, numbers, max) {
  const strip = make("canvas", className);
  strip.width = numbers.length;
  strip.height = 1;
  const context = strip.getContext("2d");
  numbers.forEach((number, i) => {
    const opacity = max > 0 ? Math.abs(number) / max : 0;
    context.fillStyle = `rgb(${number < 0 ? "213 94 0" : "0 114 178"} / ${opacity})`;
    context.fillRect(i, 0, 1, 1);
  });
  return strip;
}
