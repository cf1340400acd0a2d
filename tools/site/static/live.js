// A recurrent language model that writes letter by letter, with a heat map of its states.
const root = document.getElementById("live");
const base = new URL(root.dataset.base, document.baseURI);
const runtime = new URL(root.dataset.runtime, document.baseURI);

root.innerHTML = `
  <form>
    <label class="live-wide">Beginning
      <textarea name="prompt" rows="2" spellcheck="false">The import statement</textarea>
    </label>
    <label>Next letter
      <select name="choice">
        <option value="sample">drawn at random</option>
        <option value="greedy">the most likely one</option>
      </select>
    </label>
    <label>Temperature <output name="degrees">0.7</output>
      <input name="temperature" type="range" min="0.1" max="1.5" step="0.1" value="0.7">
    </label>
    <label>Letters
      <input name="letters" type="number" min="1" max="5000" value="400">
    </label>
    <label>Pace
      <select name="pace">
        <option value="30">to read along</option>
        <option value="0">as fast as it can</option>
      </select>
    </label>
    <div class="live-buttons">
      <button type="submit">Write</button>
      <button type="button" name="stop" disabled>Stop</button>
    </div>
  </form>
  <p class="live-status" role="status">The first time, the model (3.3 MB) and its runtime are loaded, 17.6 MB in all.</p>
  <p class="live-note" role="status" hidden></p>
  <pre class="live-text" aria-live="off"></pre>
  <canvas class="live-map" role="img" aria-label="Heat map of the states of both layers"></canvas>`;

const form = root.querySelector("form");
const fields = form.elements;
const status = root.querySelector(".live-status");
const note = root.querySelector(".live-note");
const text = root.querySelector(".live-text");
const canvas = root.querySelector("canvas");

let model = null; // What `load` returns.
let stopped = false;
let columns = []; // What the heat map shows: a letter and the states after it.
const kept = 400; // As many columns as the widest canvas shows.

async function load() {
  if (location.protocol === "file:") {
    throw new Error("a browser reads models from a server only: make docs-serve");
  }
  const ort = await import(new URL("ort.wasm.bundle.min.mjs", runtime));
  ort.env.wasm.numThreads = 1; // Several threads need headers that most servers do not send.
  ort.env.wasm.wasmPaths = { wasm: new URL("ort-wasm-simd-threaded.wasm", runtime).href };
  const [{ tokens, unknown, orders }, session] = await Promise.all([
    fetch(new URL("vocabulary.json", base)).then((response) => response.json()),
    ort.InferenceSession.create(new URL("model.onnx", base).href),
  ]);
  const ids = new Map(tokens.map((token, id) => [token, id]));
  const states = session.inputMetadata.filter(({ name }) => name.startsWith("state_"));
  const one = (value) => new ort.Tensor("int32", Int32Array.of(value), [1]);

  function start() {
    const zeros = ({ name, shape }) => [name, new ort.Tensor("float32", new Float32Array(shape[1]), shape)];
    return Object.fromEntries(states.map(zeros));
  }

  // Reads one letter: returns the logits of the next one, and the states after it.
  async function step(id, before) {
    const outputs = await session.run({ token_ids: one(id), padding_mask: one(1), ...before });
    const after = Object.fromEntries(states.map(({ name }) => [name, outputs[`next_${name}`]]));
    return { logits: outputs.output.data, after };
  }

  const knows = (letter) => ids.has(letter) && ids.get(letter) !== unknown;
  return { tokens, orders, knows, idOf: (letter) => ids.get(letter) ?? unknown, start, step };
}

function most(logits) {
  return logits.reduce((best, x, id) => (x > logits[best] ? id : best), 0);
}

function drawn(logits, temperature) {
  const top = Math.max(...logits);
  const weights = Array.from(logits, (x) => Math.exp((x - top) / temperature));
  let left = Math.random() * weights.reduce((sum, weight) => sum + weight, 0);
  const id = weights.findIndex((weight) => (left -= weight) < 0);
  return id < 0 ? weights.length - 1 : id;
}

const pause = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

async function write() {
  const prompt = Array.from(fields.prompt.value);
  const letters = Math.max(1, Math.min(5000, fields.letters.valueAsNumber || 400));
  const pace = Number(fields.pace.value);
  columns = [];
  text.textContent = fields.prompt.value;
  let states = model.start();
  let logits;
  let steps = 0;
  let busy = 0;
  let painted = 0;

  const strange = [...new Set(prompt)].filter((letter) => !model.knows(letter));
  const some = strange.slice(0, 20).join(" ") + (strange.length > 20 ? " ..." : "");
  note.textContent = `The model was not trained on these letters, and reads each as an unknown one: ${some}`;
  note.hidden = !strange.length;

  // Lets the browser paint, and take a click on Stop.
  async function show(message, wait = 0) {
    draw();
    text.scrollTop = text.scrollHeight;
    status.textContent = message;
    await pause(wait);
    painted = performance.now();
  }
  const rate = () => `The model computes ${Math.round((1000 * steps) / busy)} letters a second.`;

  async function read(letter, id) {
    const begun = performance.now();
    ({ logits, after: states } = await model.step(id, states));
    busy += performance.now() - begun;
    steps += 1;
    // State 0 is the output of the first layer, and half of the states belong to it.
    const names = Object.keys(states);
    const layers = [states[names[0]].data, states[names[names.length / 2]].data];
    columns.push({ letter, layers: layers.map((h, layer) => model.orders[layer].map((unit) => h[unit])) });
    columns.splice(0, columns.length - kept);
  }

  for (const [n, letter] of prompt.entries()) {
    await read(letter, model.idOf(letter));
    if (performance.now() - painted > 40) {
      await show(`Reading the beginning: ${n + 1} of ${prompt.length} letters. ${rate()}`);
    }
    if (stopped) {
      await show(`Stopped after reading ${n + 1} of ${prompt.length} letters.`);
      return;
    }
  }
  for (let n = 0; n < letters && !stopped; n += 1) {
    const id = fields.choice.value === "greedy" ? most(logits) : drawn(logits, fields.temperature.valueAsNumber);
    text.append(model.tokens[id]);
    await read(model.tokens[id], id);
    if (pace || performance.now() - painted > 40) {
      await show(`${n + 1} letters. ${rate()}`, pace ? 1000 / pace : 0);
    }
  }
  await show(`${Array.from(text.textContent).length - prompt.length} letters. ${rate()}`);
}

function draw() {
  const ratio = window.devicePixelRatio || 1;
  const width = canvas.clientWidth;
  const height = canvas.clientHeight;
  canvas.width = width * ratio;
  canvas.height = height * ratio;
  const context = canvas.getContext("2d");
  context.scale(ratio, ratio);
  const style = getComputedStyle(root);
  const [zero, plus, minus] = ["--live-zero", "--live-plus", "--live-minus"].map((name) => rgb(style.getPropertyValue(name)));
  const wide = 10;
  const foot = 18;
  const gap = 6;
  const shown = columns.slice(-Math.floor(width / wide));
  if (!shown.length) {
    return;
  }
  const panel = (height - foot - gap) / 2;
  const units = shown[0].layers[0].length;
  const pixels = new ImageData(shown.length, units);
  shown[0].layers.forEach((_, layer) => {
    shown.forEach(({ layers }, x) => {
      layers[layer].forEach((value, y) => {
        const share = Math.min(1, Math.abs(value));
        const color = value > 0 ? plus : minus;
        const at = 4 * (y * shown.length + x);
        for (let k = 0; k < 3; k += 1) {
          pixels.data[at + k] = zero[k] + share * (color[k] - zero[k]);
        }
        pixels.data[at + 3] = 255;
      });
    });
    const small = new OffscreenCanvas(shown.length, units);
    small.getContext("2d").putImageData(pixels, 0, 0);
    context.imageSmoothingEnabled = false;
    context.drawImage(small, 0, layer * (panel + gap), shown.length * wide, panel);
  });
  context.fillStyle = style.color;
  context.font = "13px ui-monospace, monospace";
  context.textAlign = "center";
  shown.forEach(({ letter }, x) => context.fillText(letter === "\n" ? "↵" : letter, (x + 0.5) * wide, height - 5));
}

function rgb(text) {
  return text.trim().split(/\s+/).map(Number);
}

async function run() {
  fields.stop.disabled = false;
  form.querySelector("[type=submit]").disabled = true;
  root.dataset.state = "busy";
  stopped = false;
  try {
    if (!model) {
      status.textContent = "Loading the model ...";
      model = await load();
    }
    if (!fields.prompt.value) {
      fields.prompt.value = "The ";
    }
    await write();
    root.dataset.state = "done";
  } catch (error) {
    status.textContent = `It does not run here: ${error.message}`;
    root.dataset.state = "failed";
  } finally {
    fields.stop.disabled = true;
    form.querySelector("[type=submit]").disabled = false;
  }
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  run();
});
fields.stop.addEventListener("click", () => {
  stopped = true;
});
fields.temperature.addEventListener("input", () => {
  fields.degrees.value = fields.temperature.value;
});
fields.choice.addEventListener("change", () => {
  fields.temperature.disabled = fields.choice.value === "greedy";
});
new MutationObserver(draw).observe(document.body, { attributes: true, attributeFilter: ["data-theme"] });
new ResizeObserver(draw).observe(canvas);
