// The translation word by word, what the reader changed in it, and the next words at one position.

const PACE = 700; // milliseconds per word when the translation is played

function showWords() {
  state.frame = 0;
  replaceContent(find("words"), ...state.steps.slice(0, state.shown).map(makeWord));
}

function makeWord(step, i) {
  const text = display(step), probability = percent(step.probability);
  const button = makeButton("", text, () => selectStep(i));
  button.classList.toggle("chosen", i === state.forced.length - 1);
  button.classList.toggle("end", step.id === END);
  button.append(make("small", "", probability));
  button.setAttribute("aria-pressed", i === state.step);
  button.setAttribute("aria-label", `${text}, probability ${probability}`);
  return button;
}

function selectStep(step) {
  if (!state.result) return; // the next translation is not complete
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
  const names = { causal: "decoder", cross: "cross-attention" };
  const layerName = `${names[part] ?? part} layer ${Number(layer) + 1}`;
  return head === undefined ? layerName : `${layerName} head ${Number(head) + 1}`;
}

// Next words

function showCandidates() {
  const { steps, step } = state, before = steps.slice(0, step).map(display);
  find("so-far").textContent = `Word ${step + 1}: what can follow “${[...before, "…"].join(" ")}”?`;
  replaceContent(find("candidates"), ...steps[step].top.map((candidate) => {
    const { id, probability } = candidate;
    const row = make("li"), button = makeButton("", "", () => chooseWord(id));
    const texts = [display(candidate), percent(probability)];
    button.append(...texts.map((text) => make("span", "", text)));
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
  if (!state.result) return; // the next translation is not complete
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
  if (!player) return;
  clearInterval(player);
  player = null;
  state.shown = Infinity;
  find("play").textContent = "▶ word by word";
  showAll();
}
