// The state of the page, and the requests that change it.

const UNKNOWN = 1, START = 2, END = 3, NBEST = 4;
const DELAY = 250; // milliseconds without typing until the sentence is translated

// source: tokens of the sentence, { token, id }. steps: what each position of the translation was
// chosen from. weights: by kind, [layer][query][head]. forced: the tokens that the reader chose.
// off: what is switched off; see model.js. whole: the translation with everything switched on.
// The selection: step, kind, layer, head, query and key. shown: the number of words that are shown
// while they are played. frame: the id of the pending animation frame.
const state = {
  sentence: "", source: [], steps: [], result: null, weights: {}, forced: [], off: new Set(),
  whole: null, step: 0, kind: "cross", layer: 0, head: null, query: 0, key: 0, shown: Infinity,
  requests: [], frame: 0,
};

const display = ({ token, id }) => id === END ? "[END]" : token.replace("▁", "") || "␣";
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

// Translates the sentence, or shows a hypothesis of the beam. Requests that were made before are
// cancelled.
async function translate(hypothesis = null) {
  state.requests.forEach((request) => request.cancel());
  stopPlaying();
  showError("");
  document.body.ariaBusy = "true";
  try {
    await showTranslation(new Requests(), hypothesis);
  } catch (error) {
    if (error === CANCELLED) return; // the next request is under way
    clear();
    showError(error.message);
  }
  document.body.ariaBusy = "false";
}

async function showTranslation(requests, hypothesis) {
  const { forced } = state, off = [...state.off];
  const beam = usesBeam() ? await requests.searchBeam(forced, off) : null;
  const ids = hypothesis ?? beam?.hypotheses[0]?.ids ?? forced;
  showResult(await requests.send({ type: "translate", forced: ids, off }, receiveStep));
  showBeam(beam ?? await requests.searchBeam(forced, off));
  if (!off.length) return;
  // The numbers on the page stay those of the translation that is shown.
  const whole = usesBeam() ? (await requests.searchBeam(forced, [])).hypotheses[0]
    : await requests.send({ type: "translate", forced, off: [], keep: false });
  state.whole = whole?.text ?? null;
  showNotes();
}

const CANCELLED = new Error("The reader has changed the sentence.");

// The requests for one translation, which are cancelled together.
class Requests {
  constructor() {
    this.sentence = state.sentence;
    this.pending = state.requests = [];
  }

  async send(request, onStep) {
    const promise = ask({ sentence: this.sentence, ...request }, onStep);
    this.pending.push(promise);
    const answer = await promise;
    if (state.requests !== this.pending) throw CANCELLED;
    return answer;
  }

  searchBeam(forced, off) {
    return this.send({ type: "beam", forced, off, beamSize: NBEST, nBest: NBEST });
  }
}

const usesBeam = () => document.querySelector("[name=search]:checked").value === "beam";

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
  const marks = unknown.flatMap((x, i) => [i ? ", " : "", make("mark", "", display(x))]);
  const note = ". The model reads [UNK] instead.";
  find("unknown").replaceChildren("Not in the vocabulary: ", ...marks, note);
}
