// Loads the model and listens to the reader.

const PART = 1 << 16; // characters, a multiple of 4
const page = JSON.parse(find("data").textContent);
const dark = matchMedia("(prefers-color-scheme: dark)");

function usePalette() {
  palette = dark.matches ? [[24, 34, 48], ...BLUES.slice(0, 4).reverse()] : BLUES;
  if (state.result && state.steps.length) showAll();
}

function setSentence(sentence) {
  find("sentence").value = sentence;
  changeSentence();
}

function changeSentence() {
  Object.assign(state, { sentence: find("sentence").value, forced: [], step: 0, query: 0 });
  translate();
}

function addListeners() {
  let timer = 0;
  find("form").addEventListener("submit", (event) => event.preventDefault());
  find("sentence").addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(changeSentence, DELAY);
  });
  find("sentence").addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    clearTimeout(timer);
    changeSentence();
  });
  for (const input of document.querySelectorAll("[name=search]")) {
    input.addEventListener("change", () => translate());
  }
  for (const input of document.querySelectorAll("[name=kind]")) {
    input.addEventListener("change", () => chooseKind(input.value));
  }
  find("positions").addEventListener("change", (event) => flip("positions", event.target.checked));
  find("positions").firstElementChild.dataset.name = "positions";
  find("play").addEventListener("click", play);
  find("table").addEventListener("click", chooseCell);
  find("table").addEventListener("focusin", chooseCell);
  find("table").addEventListener("keydown", moveCell);
  dark.addEventListener("change", usePalette);
  new ResizeObserver(() => {
    fitMatrix(find("table"));
    if (state.result && state.steps.length) drawLines();
  }).observe(document.body);
}

// Decodes base64 in parts, because a text of the whole would take as much memory again.
function decodeBase64(text) {
  const bytes = new Uint8Array(text.length / 4 * 3 - (text.match(/=*$/)[0].length));
  for (let i = 0; i < text.length; i += PART) {
    const part = atob(text.slice(i, i + PART)), start = i / 4 * 3;
    for (let k = 0; k < part.length; k++) bytes[start + k] = part.charCodeAt(k);
  }
  return bytes.buffer;
}

async function start() {
  usePalette();
  addListeners();
  const makeExample = (text) => makeButton("", text, () => setSentence(text));
  find("examples").replaceChildren(...page.examples.map(makeExample));
  clear();
  // What the worker has is no longer needed here.
  const weights = decodeBase64(find("weights").textContent);
  for (const id of ["data", "weights", "worker"]) find(id).remove();
  const { settings, source, target, tensors } = page;
  const model = { settings, source, target, tensors };
  await ask({ type: "load", page: model, weights }, undefined, [weights]);
  const { n, h } = settings, millions = (settings.weights / 1e6).toFixed(1);
  find("about").textContent = `A Transformer with ${n} + ${n} layers of ${h} heads and ${millions} `
    + "million weights. All of it is in this file and runs on your device; nothing is sent.";
  for (const name of ["source", "target", "tensors"]) delete page[name];
  if (page.examples.length && !find("sentence").value) setSentence(page.examples[0]);
  else changeSentence();
}

start().catch((error) => showError(`This browser cannot run the translator: ${error.message}`));
