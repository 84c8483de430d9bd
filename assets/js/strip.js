// The tokens as chips and the text itself, both shaded by what the chosen token looks at. The tokens
// are sent once a text; what is looked at comes from shades.js. Of a long text only the tokens around
// the chosen one are drawn: thousands of chips would make every choice slow.

const STRIP_CSS = `
  .chips { display: flex; flex-wrap: wrap; align-content: flex-start; gap: 3px; min-height: 3.1rem;
           max-height: 4.8rem; overflow-y: auto; padding: 2px; position: relative; }
  .chip { font: .8125rem/1.35 var(--st-code-font); padding: .05rem .3rem; border-radius: .25rem;
          border: 1px solid var(--st-border-color); background: none; color: var(--st-text-color);
          cursor: pointer; white-space: pre; unicode-bidi: isolate; max-width: 100%;
          overflow: hidden; text-overflow: ellipsis; }
  .chip:hover { border-color: var(--st-text-color); }
  .chip:focus-visible { outline: 2px solid var(--st-primary-color); outline-offset: 1px; }
  .chip.chosen { box-shadow: 0 0 0 2px var(--accent); border-color: transparent; }
  .chip.later { opacity: .5; border-style: dashed; }
  .more { font: .8125rem/1.35 var(--st-font); padding: .05rem .4rem; border: none; background: none;
          color: var(--st-primary-color); cursor: pointer; text-decoration: underline; }
  .source { margin: .3rem 2px 0; font: .9375rem/1.5 var(--st-font); color: var(--st-text-color);
            white-space: pre-wrap; overflow-wrap: anywhere; min-height: 1.5em; max-height: 4.5em; overflow-y: auto; }
  .long .chips { max-height: 3.2rem; }
  .long .source { max-height: 3em; }
  .source .later { opacity: .45; }
  .source .chosen { box-shadow: inset 0 -2px 0 var(--accent); }
`;
const SEND_AFTER_MS = 90;
const MOST_CHIPS = 512;  // more are drawn in part
const SIDE = 200;  // tokens on each side of the chosen one that are drawn of a long text
const EDGE = 20;  // so near the last one drawn, others are drawn

export default function (component) {
  const root = rootOf(component, STRIP_CSS, element => {
    const chips = make('div', 'chips');
    chips.setAttribute('role', 'listbox');
    chips.setAttribute('aria-label', 'Tokens: choose the one whose row is looked at');
    const source = make('div', 'source');
    source.dir = 'auto';
    element.append(chips, source);
  });
  const [chips, source] = root.children;
  const strip = (root.strip ??= { chips, source, timer: null });
  strip.component = component;
  if (strip.text !== component.data) {
    strip.text = component.data;
    strip.points = Array.from(strip.text.text);  // places in it are of characters
    strip.from = strip.to = 0;
  }
  chips.onkeydown = event => onKey(strip, event);
  chips.onclick = event => onClick(strip, event);
  const onShaded = () => draw(strip);
  document.addEventListener('headscope:shaded', onShaded);
  draw(strip);
  return () => {
    document.removeEventListener('headscope:shaded', onShaded);
    clearTimeout(strip.timer);
  };
}

// What is there is kept until the shades of this very text have come.
function draw(strip) {
  const shaded = window.headscopeShades;
  if (!shaded || shaded.run !== strip.text.run) return;
  strip.shaded = shaded;
  const focused = strip.chips.contains(strip.chips.getRootNode().activeElement);
  choose(strip, shaded.query);
  if (focused) chipOf(strip, strip.query)?.focus({ preventScroll: true });
}

// Frames a token, and draws others where it is not among those that are drawn.
function choose(strip, query) {
  const count = strip.text.labels.length;
  const near = query >= strip.from + EDGE && query < strip.to - EDGE;
  strip.query = query;
  if (count <= MOST_CHIPS) place(strip, 0, count);
  else if (near) place(strip, strip.from, strip.to);
  else place(strip, Math.max(0, query - SIDE), Math.min(count, query + SIDE + 1));
  reveal(strip.chips, chipOf(strip, query));
  reveal(strip.source, strip.source.querySelector('.chosen'));
}

// Scrolls a box, and nothing around it, to what is in it.
function reveal(box, element) {
  if (!element) return;
  const [outer, inner] = [box, element].map(each => each.getBoundingClientRect());
  if (inner.top >= outer.top && inner.bottom <= outer.bottom) return;
  box.scrollTop += inner.top - outer.top - (outer.height - inner.height) / 2;
}

function chipOf({ chips, from }, token) {
  return chips.querySelectorAll('.chip')[token - from];
}

// Draws the tokens from one to another.
function place(strip, from, to) {
  const { chips, source, text, shaded, query } = strip;
  Object.assign(strip, { from, to });
  chips.parentElement.classList.toggle('long', text.labels.length > MOST_CHIPS);
  chips.style.setProperty('--accent', shaded.accent);
  source.style.setProperty('--accent', shaded.accent);
  const made = [...chips.querySelectorAll('.chip')];
  while (made.length > to - from) made.pop().remove();
  for (let i = from; i < to; i++) {
    let chip = made[i - from];
    if (!chip) {
      chip = make('button', 'chip');
      chip.type = 'button';
      chip.setAttribute('role', 'option');
      chips.append(chip);
    }
    dress(chip, i, text.labels[i], shaded, i === query);
  }
  more(strip, 'before', from, chip => chips.prepend(chip));
  more(strip, 'after', text.labels.length - to, chip => chips.append(chip));
  source.replaceChildren(...pieces(strip).map(piece => {
    const span = make('span', '', piece.text);
    span.classList.toggle('later', piece.unseen);
    span.classList.toggle('chosen', piece.chosen);
    shade(span, piece.shade, shaded.heat);
    return span;
  }));
}

function dress(chip, i, label, shaded, chosen) {
  if (chip.textContent !== label) chip.textContent = label;
  chip.title = `${i} · ${label}: ${said(shaded, i)}`;
  chip.classList.toggle('later', i > shaded.query || i < shaded.first);
  chip.classList.toggle('chosen', chosen);
  chip.setAttribute('aria-selected', chosen);
  chip.tabIndex = chosen ? 0 : -1;
  shade(chip, shaded.shades[i], shaded.heat);
}

// The way to tokens that are not drawn.
function more({ chips }, name, count, put) {
  chips.querySelector(`.more.${name}`)?.remove();
  if (!count) return;
  const button = make('button', `more ${name}`, `${count.toLocaleString('en')} ${name} …`);
  button.type = 'button';
  put(button);
}

function said({ query, first, window: reach, weights }, i) {
  if (i > query) return 'cannot be looked at: a later token';
  if (i < first) return `cannot be looked at: before the window of ${reach} tokens`;
  return Number.isNaN(weights[i]) ? 'hidden: first token' : `weight ${figure(weights[i])}`;
}

function onClick(strip, event) {
  const to = event.target.closest('.more');
  if (to) {
    const [count, by] = [strip.text.labels.length, 2 * SIDE];
    const from = to.classList.contains('before') ? strip.from - by : strip.to;
    const start = Math.max(0, Math.min(from, count - by));
    place(strip, start, Math.min(count, start + by));
    strip.chips.scrollTop = 0;
    return;
  }
  const chip = event.target.closest('.chip');
  if (chip) send(strip, strip.from + [...strip.chips.querySelectorAll('.chip')].indexOf(chip), 0);
}

function onKey(strip, event) {
  const { query, text } = strip;
  const last = text.labels.length - 1;
  const to = { ArrowLeft: query - 1, ArrowUp: query - 1, ArrowRight: query + 1,
               ArrowDown: query + 1, Home: 0, End: last }[event.key];
  if (to === undefined) return;
  event.preventDefault();
  if (to < 0 || to > last) return;
  send(strip, to, SEND_AFTER_MS);
  chipOf(strip, to)?.focus({ preventScroll: true });
}

function send(strip, query, wait) {
  choose(strip, query);
  clearTimeout(strip.timer);
  strip.timer = setTimeout(() => strip.component.setTriggerValue('query', query), wait);
}

// The text of the tokens that are drawn, cut where the shade changes. A character that several
// tokens share (its bytes) has their shades together, 1 at most; what belongs to no token has none.
function pieces({ text, points, shaded, from, to, query }) {
  const spans = text.offsets.slice(from, to);
  if (!spans.length) return [];
  const start = from === 0 ? 0 : Math.min(...spans.map(([a]) => a));
  const end = Math.max(...spans.map(([, b]) => b));
  const [shades, seen, chosen] = [[], [], []];
  spans.forEach(([a, b], i) => {
    const token = from + i;
    for (let at = a; at < b; at++) {
      shades[at] = Math.min(1, (shades[at] ?? 0) + shaded.shades[token]);
      seen[at] ||= token >= shaded.first && token <= shaded.query;
      chosen[at] ||= token === query;
    }
  });
  const cuts = [...new Set([start, end, ...spans.flat()])].sort((a, b) => a - b);
  return cuts.slice(0, -1).map((a, i) => ({
    text: points.slice(a, cuts[i + 1]).join(''),
    shade: shades[a] ?? 0,
    unseen: !seen[a],
    chosen: Boolean(chosen[a]),
  }));
}

// The heat behind a token; dark text where the heat is strong, whatever the theme.
function shade(element, strength, heat) {
  element.style.backgroundColor = `rgba(${heat}, ${strength.toFixed(3)})`;
  element.style.color = strength > 0.45 ? '#12141C' : '';
}
