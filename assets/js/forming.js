// Walks through a training: a slider, a play button, and three Plotly charts that follow. All
// patterns of all checkpoints are here, so that a step draws and asks nobody. Streamlit holds
// figures that stay the same; the present ones are drawn over them, as in live_chart.js.

const FORMING_CSS = `
  ${TIP_CSS}
  .bar { display: flex; align-items: center; gap: .75rem; }
  .play { font: 600 .9375rem/1 var(--st-font); color: var(--st-text-color); cursor: pointer;
          background: var(--st-secondary-background-color); border: 1px solid var(--st-border-color);
          border-radius: var(--st-base-radius, .375rem); min-width: 5.6rem; padding: .5rem .7rem; }
  .play:hover { border-color: var(--st-primary-color); }
  .play:focus-visible, .slider:focus-visible { outline: 2px solid var(--st-primary-color);
                                               outline-offset: 2px; }
  .track { position: relative; flex: 1; min-width: 6rem; }
  .slider { width: 100%; margin: 0; accent-color: var(--st-primary-color); display: block;
            height: 1.5rem; cursor: pointer; }
  .stretch { position: absolute; bottom: -.15rem; height: .25rem; border-radius: 2px;
             background: var(--accent); pointer-events: none; }
  .stretch span { position: absolute; top: .2rem; left: 50%; transform: translateX(-50%);
                  font: .75rem/1.2 var(--st-font); color: var(--accent); }
  .amount { font: 600 .9375rem/1.2 var(--st-font); color: var(--st-text-color);
            min-width: 8.5rem; text-align: right; font-variant-numeric: tabular-nums; }
  .said { font: 1rem/1.45 var(--st-font); color: var(--st-text-color); margin: .85rem 0 0;
          min-height: 2.9em; }
  .said.small { font-size: .9375rem; margin-top: .15rem; min-height: 1.45em; }
  @media (max-width: 640px) { .bar { flex-wrap: wrap; } .track { order: 3; flex-basis: 100%; }
                              .amount { flex: 1; } .said { min-height: 5.8em; } }
`;
const REST_MS = 250;
const AGAIN_MS = 60;
const LEAST_MS = 60;  // between two steps, for everything else on a slow machine
const WATCH_MS = 500;
const THUMB_PX = 16;
const LEAST_WEIGHT = 0.0005;
// One a place on the page, kept from call to call.
const reels = new WeakMap();

export default function (component) {
  const { header, body } = unpack(component.data);
  const root = rootOf(component, FORMING_CSS, build);
  if (!reels.has(root)) reels.set(root, newReel(root));
  const reel = reels.get(root);
  reel.component = component;
  if (reel.bytes !== component.data) take(reel, header, body, component.data);
  draw(reel);
  clearInterval(reel.watch);
  reel.watch = setInterval(() => (root.isConnected ? check(reel) : end(reel)), WATCH_MS);
  return () => { if (!root.isConnected) end(reel); };
}

function build(root) {
  const bar = make('div', 'bar');
  const play = make('button', 'play', '▶ Play');
  play.type = 'button';
  const track = make('div', 'track');
  const slider = make('input', 'slider');
  slider.type = 'range';
  slider.setAttribute('aria-label', 'Checkpoint of the training');
  const stretch = make('div', 'stretch');
  stretch.append(make('span', '', 'bump'));
  track.append(slider, stretch);
  bar.append(play, track, make('div', 'amount'));
  root.append(bar, make('p', 'said'), make('p', 'said small'), make('div', 'tip'));
}

function newReel(root) {
  const find = name => root.querySelector(name);
  const reel = {
    root, play: find('.play'), slider: find('.slider'), stretch: find('.stretch'),
    amount: find('.amount'), tip: find('.tip'), said: root.querySelectorAll('.said'),
    charts: {}, drawn: {}, at: 0, layer: 0, head: 0, turn: null, playing: null,
  };
  reel.slider.addEventListener('input', () => { stop(reel); go(reel, Number(reel.slider.value)); });
  reel.play.addEventListener('click', () => (reel.playing ? stop(reel) : start(reel)));
  return reel;
}

// What the server sent: another text, another look of the page, or another place to be at.
function take(reel, header, body, bytes) {
  reel.bytes = bytes;
  reel.header = header;
  reel.steps = new Uint16Array(body.buffer, body.byteOffset, body.byteLength >> 1);
  reel.figures = Object.fromEntries(
    Object.entries(header.figures).map(([name, json]) => [name, JSON.parse(json)]));
  reel.last = header.amounts.length - 1;
  if (reel.turn !== header.turn) {
    reel.turn = header.turn;
    [reel.at, reel.layer, reel.head] = header.start;
  }
  reel.slider.max = reel.last;
  reel.root.style.setProperty('--accent', header.accent);
  const [first, final] = header.bump;
  const place = share => `calc(${share} * (100% - ${THUMB_PX}px) + ${THUMB_PX / 2}px)`;
  reel.stretch.style.left = place(first / reel.last);
  reel.stretch.style.right = `calc(100% - ${place(final / reel.last)})`;
}

function start(reel) {
  if (reel.at === reel.last) go(reel, 0);
  const next = () => {
    if (!reel.root.isConnected) return end(reel);
    const began = performance.now();
    go(reel, reel.at + 1);
    const left = reel.header.frameMs - (performance.now() - began);
    if (reel.at < reel.last) reel.playing = setTimeout(next, Math.max(LEAST_MS, left));
    else stop(reel);
  };
  reel.playing = setTimeout(next, reel.header.frameMs);
  label(reel);
}

function stop(reel) {
  if (!reel.playing) return;
  clearTimeout(reel.playing);
  reel.playing = null;
  label(reel);
  tell(reel);
}

function label(reel) {
  reel.play.textContent = reel.playing ? '❚❚ Pause' : '▶ Play';
  reel.said[0].setAttribute('aria-live', reel.playing ? 'off' : 'polite');
}

function go(reel, at) {
  reel.at = Math.max(0, Math.min(reel.last, at));
  draw(reel);
  if (!reel.playing) tell(reel);
}

// The address follows once the slider rests.
function tell(reel) {
  clearTimeout(reel.telling);
  reel.telling = setTimeout(() => reel.component.setTriggerValue('moment', reel.at), REST_MS);
}

function choose(reel, index) {
  const { heads } = reel.header;
  [reel.layer, reel.head] = [Math.floor(index / heads), index % heads];
  draw(reel);
  reel.component.setTriggerValue('head', [reel.layer, reel.head]);
}

function end(reel) {
  for (const timer of [reel.playing, reel.telling, reel.later]) clearTimeout(timer);
  clearInterval(reel.watch);
  reel.playing = null;
  for (const name of Object.keys(reel.charts)) leave(reel, name);
}

// ---------------------------------------------------------------- what is drawn

function draw(reel) {
  const { header, at } = reel;
  const chosen = reel.layer * header.heads + reel.head;
  reel.slider.value = at;
  reel.slider.setAttribute('aria-valuetext', `${header.amounts[at]} tokens`);
  reel.amount.textContent = `${header.amounts[at]} tokens`;
  reel.said[0].textContent = header.moments[at];
  reel.said[1].textContent = `On this text: ${header.said[at][chosen]}`;
  label(reel);
  clearTimeout(reel.later);
  const makers = { tiles, detail, curves };
  let missing = false;
  for (const [name, key] of Object.entries(header.charts)) {
    const chart = attach(reel, name, key);
    if (!chart) {
      missing = true;
      continue;
    }
    if (name === 'curves' && reel.lines === chosen && chart.data === reel.drawn[name]) {
      window.Plotly.relayout(chart, { shapes: marked(reel, chart.layout.shapes) });
      continue;
    }
    // Plotly writes into the layout that it gets: the axes would shrink from step to step.
    const { data, layout } = makers[name](reel, structuredClone(reel.figures[name]), chosen);
    reel.drawn[name] = data;
    // The chart has its own idea of its size.
    const { width, height, autosize } = chart.layout;
    window.Plotly.react(chart, data, { ...layout, width, height, autosize }, chart._context);
  }
  if (missing) reel.later = setTimeout(() => reel.root.isConnected && draw(reel), AGAIN_MS);
}

// Streamlit has drawn its own figure again, or mounted another chart.
function check(reel) {
  const stale = Object.entries(reel.header.charts).some(([name, key]) => {
    const found = chartOf(key);
    return found && found.data !== reel.drawn[name];
  });
  if (stale) draw(reel);
}

function chartOf(key) {
  const found = document.querySelector(`.st-key-${key} .js-plotly-plot`);
  return found && found.data && found.on && window.Plotly ? found : null;
}

// One row of one head at the present checkpoint, as long as what it can see; NaN where hidden.
function row(reel, index, query) {
  const { seqLen, layers, heads, steps, hideFirst } = reel.header;
  const triangle = (seqLen * (seqLen + 1)) / 2;
  const from = (reel.at * layers * heads + index) * triangle + (query * (query + 1)) / 2;
  const weights = reel.steps.subarray(from, from + query + 1);
  const whole = hideFirst ? weights.reduce((sum, step) => sum + step, 0) - weights[0] : steps;
  const shown = Float32Array.from(weights, step => step / whole);
  if (hideFirst) shown[0] = NaN;
  return shown;
}

function tiles(reel, figure, chosen) {
  const { seqLen, layers, heads, tiling, codes, tags, accent } = reel.header;
  const { side, pitchX, pitchY, columns, step } = tiling;
  const cells = Array.from({ length: tiling.rows }, () => new Uint8Array(tiling.cells));
  const best = Array.from({ length: layers * heads }, () => new Float32Array(side * side).fill(-1));
  for (let index = 0; index < layers * heads; index++) {
    const [top, left] = [Math.floor(index / columns) * pitchY, (index % columns) * pitchX];
    for (let query = 0; query < seqLen; query++) {
      const y = Math.floor(query / step);
      row(reel, index, query).forEach((weight, key) => {
        const cell = y * side + Math.floor(key / step);
        if (weight > best[index][cell]) best[index][cell] = weight;
      });
    }
    best[index].forEach((weight, cell) => {
      const code = weight < 0 ? codes.masked
        : codes.lowest + Math.round(weight * (codes.highest - codes.lowest));
      cells[top + Math.floor(cell / side)][left + (cell % side)] = code;
    });
  }
  reel.best = best;
  const written = figure.layout.annotations.map((annotation, i) => {
    const tag = i - layers * heads;
    return tag < 0 ? annotation : { ...annotation, text: tags[reel.at][tag] };
  });
  const [top, left] = [Math.floor(chosen / columns) * pitchY, (chosen % columns) * pitchX];
  const edge = side * 0.02;
  const shapes = [frame(left - 0.5 - edge, top - 0.5 - edge, left + side - 0.5 + edge,
                        top + side - 0.5 + edge, accent, 3)];
  return {
    data: [{ ...figure.data[0], z: cells }],
    layout: { ...figure.layout, annotations: written, shapes },
  };
}

function detail(reel, figure, chosen) {
  const { seqLen, titles } = reel.header;
  const z = Array.from({ length: seqLen }, (_, query) => {
    const whole = new Array(seqLen).fill(null);
    row(reel, chosen, query).forEach((weight, key) => { whole[key] = weight; });
    return whole;
  });
  const title = { ...figure.layout.title, text: titles[reel.at][chosen] };
  const heatmap = figure.data.at(-1);
  return {
    data: [...figure.data.slice(0, -1), { ...heatmap, z }],
    layout: { ...figure.layout, title },
  };
}

function curves(reel, figure, chosen) {
  const own = reel.header.curves[chosen];
  const others = figure.data.length - own.length;
  reel.lines = chosen;
  return {
    data: figure.data.map((line, i) => (i < others ? line : { ...line, y: own[i - others] })),
    layout: { ...figure.layout, shapes: marked(reel, figure.layout.shapes) },
  };
}

// The upright line stands at the present checkpoint.
function marked(reel, shapes) {
  const at = reel.header.tokens[reel.at] / 1e6;
  return shapes.map(shape => (shape.name === 'checkpoint' ? { ...shape, x0: at, x1: at } : shape));
}

// ---------------------------------------------------------------- what is touched

function attach(reel, name, key) {
  const found = chartOf(key);
  if (!found || reel.charts[name]?.chart === found) return found;
  leave(reel, name);
  const away = () => { reel.tip.style.display = 'none'; };
  const over = event => {
    const words = said(reel, name, event.points[0]);
    if (words) placeTip(reel.tip, words, event.event);
    else away();
  };
  const click = event => pick(reel, name, event.points[0]);
  const again = () => { if (found.data !== reel.drawn[name]) setTimeout(() => check(reel), 0); };
  const listeners = { plotly_hover: over, plotly_unhover: away, plotly_click: click,
                      plotly_afterplot: again };
  for (const [event, call] of Object.entries(listeners)) found.on(event, call);
  const press = event => move(reel, event);
  if (name === 'tiles') {
    found.tabIndex = 0;
    found.setAttribute('role', 'group');
    found.setAttribute('aria-label', reel.header.label);
    found.addEventListener('keydown', press);
  }
  reel.charts[name] = { chart: found, listeners, press };
  return found;
}

function leave(reel, name) {
  const { chart, listeners, press } = reel.charts[name] ?? {};
  if (!chart) return;
  for (const [event, call] of Object.entries(listeners)) chart.removeListener?.(event, call);
  chart.removeEventListener('keydown', press);
  delete reel.charts[name];
}

function move(reel, event) {
  const { layers, heads, tiling } = reel.header;
  const by = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -tiling.columns,
               ArrowDown: tiling.columns }[event.key];
  if (by === undefined) return;
  event.preventDefault();
  const next = reel.layer * heads + reel.head + by;
  if (next >= 0 && next < layers * heads) choose(reel, next);
}

function pick(reel, name, point) {
  if (name === 'tiles') {
    const at = tileAt(reel, point);
    if (at) choose(reel, at.index);
  } else if (name === 'curves') {
    const distance = reel.header.tokens.map(tokens => Math.abs(tokens / 1e6 - point.x));
    stop(reel);
    go(reel, distance.indexOf(Math.min(...distance)));
  }
}

function tileAt(reel, point) {
  const { layers, heads, tiling } = reel.header;
  if (!Array.isArray(point?.pointIndex)) return null;
  const [y, x] = point.pointIndex;
  const index = Math.floor(y / tiling.pitchY) * tiling.columns + Math.floor(x / tiling.pitchX);
  const [inY, inX] = [y % tiling.pitchY, x % tiling.pitchX];
  const inside = index < layers * heads && inY < tiling.side && inX < tiling.side;
  return inside ? { index, y: inY, x: inX } : null;
}

function said(reel, name, point) {
  const { labels, heads, tiling, hideFirst } = reel.header;
  if (name === 'curves') return '';
  const of = hideFirst ? ' of the rest' : '';
  let [step, weight, y, x] = [1, null, 0, 0];
  let index = reel.layer * heads + reel.head;
  if (name === 'tiles') {
    const at = tileAt(reel, point);
    if (!at) return '';
    ({ index, y, x } = at);
    step = tiling.step;
    weight = reel.best[index][y * tiling.side + x];
  } else {
    if (!Array.isArray(point?.pointIndex)) return '';
    [y, x] = point.pointIndex;
    weight = x > y ? -1 : row(reel, index, y)[x];
  }
  const span = spans(labels, step);
  const what = weight >= 0 ? `${step === 1 ? 'weight' : 'largest weight'} ${amount(weight)}${of}`
    : x > y ? 'cannot attend: later token' : 'hidden: first token';
  const head = `${Math.floor(index / heads)}.${index % heads}`;
  return `head ${head}\nquery ${span(y)}\nkey ${span(x)}\n${what}`;
}

// Weights come in steps of 1 / 65,535: smaller figures would mean nothing.
function amount(weight) {
  return weight > 0 && weight < LEAST_WEIGHT ? `below ${LEAST_WEIGHT}` : figure(weight);
}
