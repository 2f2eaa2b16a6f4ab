// Loads the model and listens to the reader.

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

async function start() {
  usePalette();
  addListeners();
  const makeExample = (text) => makeButton("", text, () => setSentence(text));
  find("examples").replaceChildren(...page.examples.map(makeExample));
  clear();
  // What the worker has read is no longer needed here.
  const weights = find("weights").textContent;
  for (const id of ["data", "weights", "worker"]) find(id).remove();
  const { settings, source, target, tensors } = page;
  await ask({ type: "load", page: { settings, source, target, tensors }, weights });
  const { n, h } = settings, millions = (settings.weights / 1e6).toFixed(1);
  find("about").textContent = `A Transformer with ${n} + ${n} layers of ${h} heads and ${millions} `
    + "million weights. All of it is in this file and runs on your device; nothing is sent.";
  for (const name of ["source", "target", "tensors"]) delete page[name];
  if (page.examples.length && !find("sentence").value) setSentence(page.examples[0]);
  else changeSentence();
}

start().catch((error) => showError(`This browser cannot run the translator: ${error.message}`));
