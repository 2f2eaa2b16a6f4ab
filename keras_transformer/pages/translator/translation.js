// The sentence, its translation word by word, and the next words at one position.

const UNKNOWN = 1, START = 2, END = 3, NBEST = 4;
const DELAY = 250; // milliseconds without typing until the sentence is translated
const PACE = 700; // milliseconds per word when the translation is played

// source: tokens of the sentence, { token, id }. steps: what each position of the translation was
// chosen from. weights: by kind, [layer][query][head]. forced: the tokens that the reader chose.
// off: what is switched off; see model.js. whole: the translation with everything switched on.
// The selection: step, kind, layer, head, query and key. shown: the number of words that are shown
// while they are played. frame: the id of the pending animation frame.
const state = {
  sentence: "", source: [], steps: [], result: null, weights: {}, forced: [], off: new Set(), whole: null,
  step: 0, kind: "cross", layer: 0, head: null, query: 0, key: 0, shown: Infinity, requests: [],
  frame: 0,
};

const clean = (token) => token.replace("▁", "");
const display = (token) => clean(token) || "␣";
const percent = (x) => `${(100 * x).toFixed(x > 0.0995 ? 0 : x > 0.00995 ? 1 : 2)}%`;

// Replaces what an element contains; the focus stays where it was.
function replaceContent(parent, ...children) {
  const focusable = () => [...parent.querySelectorAll("button, input")];
  const index = focusable().indexOf(document.activeElement);
  parent.replaceChildren(...children);
  if (index >= 0) focusable()[index]?.focus({ preventScroll: true });
}

function showError(text) {
  find("error").textContent = text;
}

// Translates the sentence. The answers of an earlier request are no longer shown.
async function translate() {
  state.requests.forEach((request) => request.cancel());
  stopPlaying();
  const options = { sentence: state.sentence, off: [...state.off] };
  const send = (request, onStep) => {
    const promise = ask(request, onStep);
    state.requests.push(promise);
    return promise;
  };
  state.requests = [];
  showError("");
  try {
    let { forced } = state;
    const searchBeam = (off) => send({ type: "beam", ...options, off, forced, beamSize: NBEST, nBest: NBEST });
    const beam = usesBeam() ? await searchBeam(options.off) : null;
    if (beam) forced = beam.hypotheses[0]?.ids ?? [];
    const result = await send({ type: "translate", ...options, forced }, receiveStep);
    if (result === null) return;
    showResult(result);
    forced = state.forced;
    const found = beam ?? await searchBeam(options.off);
    if (found) showBeam(found);
    if (state.off.size) await compareWithWhole(send, searchBeam);
  } catch (error) {
    clear();
    showError(error.message);
  }
}

const usesBeam = () => document.querySelector("[name=search]:checked").value === "beam";

async function compareWithWhole(send, searchBeam) {
  const { sentence, forced } = state;
  // The numbers on the page stay those of the translation that is shown.
  const request = { type: "translate", sentence, forced, off: [], keep: false };
  const whole = usesBeam() ? (await searchBeam([]))?.hypotheses[0] : await send(request);
  if (!whole) return;
  state.whole = whole.text;
  showNotes();
}

function receiveStep(step) {
  if (step.source) {
    Object.assign(state, { source: step.source, steps: [], result: null, whole: null });
    state.weights = { encoder: [], causal: [], cross: [] };
    showUnknown();
  } else if (step.encoder) {
    state.weights.encoder = step.encoder;
  } else {
    for (const kind of ["causal", "cross"]) {
      step[kind].forEach((rows, layer) => (state.weights[kind][layer] ??= []).push(...rows));
    }
    state.steps.push(step);
    state.frame ||= requestAnimationFrame(showWords);
  }
}

function showResult(result) {
  state.result = result;
  if (!state.steps.length) {
    clear();
    return;
  }
  showSections(true);
  state.step = Math.min(state.step, state.steps.length - 1);
  showNotes();
  chooseSharpestHead();
  showAll();
}

function clear() {
  Object.assign(state, { steps: [], source: [], result: null });
  showSections(false);
}

function showSections(shown) {
  for (const section of document.querySelectorAll("section")) section.hidden = !shown;
}

function showUnknown() {
  const unknown = state.source.filter(({ id }) => id === UNKNOWN);
  if (!unknown.length) {
    find("unknown").replaceChildren();
    return;
  }
  const marks = unknown.flatMap(({ token }, i) => [i ? ", " : "", make("mark", "", display(token))]);
  find("unknown").replaceChildren("Not in the vocabulary: ", ...marks, ". The model reads [UNK] instead.");
}

// The translation

function showWords() {
  state.frame = 0;
  replaceContent(find("words"), ...state.steps.slice(0, state.shown).map(makeWord));
}

function makeWord({ token, id, probability }, i) {
  const button = makeButton("", id === END ? "[END]" : display(token), () => selectStep(i));
  button.classList.toggle("chosen", i < state.forced.length && i === state.forced.length - 1);
  button.classList.toggle("end", id === END);
  button.append(make("small", "", percent(probability)));
  button.setAttribute("aria-pressed", i === state.step);
  button.setAttribute("aria-label", `${display(token)}, probability ${percent(probability)}`);
  return button;
}

function selectStep(step) {
  stopPlaying();
  showStep(step);
}

function showStep(step) {
  state.step = step;
  if (state.kind !== "encoder") state.query = step;
  showAll();
}

function showAll() {
  showWords();
  showCandidates();
  showAttention();
}

// What the reader changed, and the way back.
function showNotes() {
  const notes = [];
  if (state.forced.length) {
    notes.push(
      make("span", "", "You chose a word."),
      makeButton("", "back to the model's own words", () => forceTokens([])),
    );
  }
  if (state.off.size) {
    const whole = state.whole === null ? "" : ` With everything on: ${state.whole}`;
    notes.push(
      make("span", "", `Switched off: ${[...state.off].map(describeSwitch).join(", ")}.${whole}`),
      makeButton("", "switch everything on", () => {
        state.off.clear();
        translate();
      }),
    );
  }
  find("notes").replaceChildren(...notes);
}

function describeSwitch(name) {
  const [part, layer, head] = name.split(" ");
  if (part === "positions") return part;
  const kinds = { encoder: "encoder", causal: "decoder", cross: "cross-attention", decoder: "decoder" };
  const layerName = `${kinds[part]} layer ${Number(layer) + 1}`;
  return head === undefined ? layerName : `${layerName} head ${Number(head) + 1}`;
}

// Next words

function showCandidates() {
  const { steps, step } = state, before = steps.slice(0, step).map((x) => display(x.token));
  find("so-far").textContent = `Word ${step + 1}: what can follow “${[...before, "…"].join(" ")}”?`;
  replaceContent(find("candidates"), ...steps[step].top.map(({ id, token, probability }) => {
    const row = make("li"), button = makeButton("", "", () => chooseWord(id));
    button.append(make("span", "", id === END ? "[END]" : display(token)), make("span", "", percent(probability)));
    button.style.setProperty("--share", `${100 * probability}%`);
    button.setAttribute("aria-pressed", id === steps[step].id);
    button.disabled = id < END; // padding, unknown and start are never chosen
    row.append(button);
    return row;
  }));
}

function chooseWord(id) {
  forceTokens([...state.steps.slice(0, state.step).map((x) => x.id), id]);
}

function forceTokens(ids) {
  state.forced = ids;
  if (ids.length) state.step = ids.length - 1;
  translate();
}

// Playing: the words and their attention appear one after the other.

let player = null;

function play() {
  if (player) {
    stopPlaying();
    return;
  }
  state.shown = 1;
  showStep(0);
  find("play").textContent = "■ stop";
  player = setInterval(() => {
    if (state.shown >= state.steps.length) {
      stopPlaying();
      return;
    }
    state.shown += 1;
    showStep(state.shown - 1);
  }, PACE);
}

function stopPlaying() {
  clearInterval(player);
  player = null;
  state.shown = Infinity;
  find("play").textContent = "▶ word by word";
  if (state.steps.length && state.result) showAll();
}
