// One head of a long text on a canvas. What is drawn are cells of a byte each, from the finest of
// what is here: an overview of the whole, and the tiles that were asked for since. A pixel has the
// largest weight under it, so that a single strong one never drops out. Python is asked for a tile
// where the view is finer than what is here, and for exact weights where the pointer rests.

const MAP = 72, LEAST_MAP = 44;  // px a side of the whole in small, as there is room for it
const TILES_CSS = `
  ${TIP_CSS}
  .viewer { outline: none; font: .8125rem/1.35 var(--st-font); color: var(--st-text-color);
            border-radius: 4px; position: relative; }
  .viewer:focus-visible { box-shadow: 0 0 0 2px var(--st-primary-color); }
  .tools { display: flex; flex-wrap: wrap; gap: .1rem .3rem; align-items: center; }
  button, input { font: inherit; color: inherit; background: var(--st-background-color);
    border: 1px solid var(--st-border-color); border-radius: .3rem; height: 1.6rem;
    box-sizing: border-box; padding: 0 .5rem; }
  button { cursor: pointer; min-width: 1.75rem; white-space: nowrap; }
  button:hover, input:hover { border-color: var(--st-text-color); }
  button:focus-visible, input:focus-visible { outline: 2px solid var(--st-primary-color);
    outline-offset: 1px; }
  button[aria-pressed=true] { border-color: var(--accent); box-shadow: inset 0 0 0 1px var(--accent); }
  input { flex: 1 1 5rem; width: 5rem; max-width: 8.5rem; }
  .state { flex: 1 1 16rem; min-width: 0; min-height: 1.35em; overflow: hidden; opacity: .8;
    text-overflow: ellipsis; white-space: nowrap; font-variant-numeric: tabular-nums; }
  .keys { display: none; gap: .3rem; padding: 2px; align-items: center; overflow-x: auto;
    white-space: nowrap; font-variant-numeric: tabular-nums; }
  .keys.on { display: flex; }
  .keys.on.aside { position: absolute; right: 0; flex-direction: column; align-items: stretch;
    overflow: hidden auto; }
  .keys.aside span { white-space: normal; }
  .keys button { font: .75rem/1 var(--st-code-font); height: 1.4rem; padding: 0 .3rem; max-width: 11rem;
    flex: none; text-align: left; overflow: hidden; text-overflow: ellipsis; }
  .map { display: block; position: absolute; right: 0; cursor: crosshair; touch-action: none;
    box-sizing: border-box; border: 1px solid var(--st-border-color);
    background: var(--st-background-color); }
  .stage { position: relative; margin-top: .2rem; --square: calc(100cqw - 1.25rem);
    height: clamp(24.75rem, min(var(--square), calc(100vh - 35rem)), 52rem); }
  @media (max-width: 900px), (max-height: 759px) {
    .stage { height: min(var(--square), max(24rem, calc(100vh - 14rem))); }
  }
  .plot { display: block; position: absolute; inset: 0; cursor: crosshair; }
  .plot.held { cursor: grabbing; }
  .scale { display: flex; gap: .5rem; align-items: center; font-size: .75rem; opacity: .85;
    margin-top: .15rem; min-height: 1.3em; }
  .ramp { width: 5rem; height: .55rem; flex: none; }
`;
const CHANNEL = 'query';  // where a choice meets its link to Python
const LEAST_SPAN = 8;  // tokens in view, at the closest
const LABEL_PX = 11;
const LABEL_PITCH = 13;
const LONGEST = 11, LONGEST_BELOW = 8;  // characters of a label beside the picture, and below it
const AROUND = 0.25;  // of the view, that is fetched on each side of it
const PATCH = 64;  // cells a side of exact weights around a pointer at rest
const KEPT = 12;  // tiles
const MOST_ACROSS = 1300;  // cells in view; with what is fetched around them, all that Python sends
const ASK_MS = 90, REST_MS = 180, CLICK_MS = 260, GIVE_UP_MS = 8000;
const STEPS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000];

export default function (component) {
  const { header, body } = unpack(component.data);
  const root = rootOf(component, TILES_CSS, build);
  root.component = component;
  root.viewer ??= viewer(root);
  root.viewer?.take(header, body);
  return () => root.viewer?.stop();
}

function build(element) {
  const view = make('div', 'viewer');
  view.tabIndex = 0;
  view.setAttribute('role', 'application');
  const button = (name, text, title) => {
    const made = make('button', name, text);
    made.type = 'button';
    made.title = title;
    made.setAttribute('aria-label', title);
    return made;
  };
  const find = make('input', 'find');
  find.type = 'text';
  find.placeholder = 'Go to token …';
  find.title = 'A token’s number or its text, then Enter; Enter again finds the next';
  find.setAttribute('aria-label', 'Go to token: its number or its text');
  const follow = button('follow', 'Follow', 'Keep the chosen token’s row in view, and name its strongest keys');
  const state = make('div', 'state');
  state.setAttribute('aria-live', 'polite');
  const tools = make('div', 'tools');
  tools.append(button('out', '−', 'Zoom out'), button('in', '+', 'Zoom in'),
               button('all', 'All', 'Show the whole head'), find, follow, state);
  const map = make('canvas', 'map');
  map.setAttribute('aria-hidden', 'true');
  const stage = make('div', 'stage');
  stage.append(make('canvas', 'plot'));
  const scale = make('div', 'scale');
  scale.append(make('canvas', 'ramp'), make('span', 'words'));
  view.append(tools, map, make('div', 'keys'), stage, scale);
  element.append(view, make('div', 'tip'));
}

function viewer(root) {
  const part = name => root.querySelector(`.${name}`);
  const [frameOf, canvas, map, tip] = ['viewer', 'plot', 'map', 'tip'].map(part);
  if (!canvas.getContext('2d')) {
    root.component.setTriggerValue('missing', true);
    return undefined;
  }
  let head = null;  // what was sent last
  let [labels, labelsOf] = [[], ''];  // of the tokens, and the name of the text that they are of
  let sources = [];  // the overview, then tiles; the last one drawn is on top
  let exacts = [];
  let named = '';  // of what the overview is
  let palette = new Uint32Array(0);
  let view = null;  // { y, x, span } in tokens
  let cursor = null;  // the cell that the keyboard is at
  let follows = false;
  let query = 0;  // whose row is framed; Python hears of it through the link
  let [asked, askedAt, number] = ['', 0, Date.now()];  // no page before had these numbers
  let [wanted, pointer] = [null, null];
  let [drawing, asking, resting, clicking, unheard] = [0, 0, 0, 0, 0];

  const send = (name, value) => root.component.setTriggerValue(name, value);
  const clamp = (value, low, high) => Math.max(low, Math.min(high, value));
  const count = () => head.count;
  const ratio = () => window.devicePixelRatio || 1;
  const place = () => {
    const [left, below] = [LONGEST, LONGEST_BELOW].map(n => Math.round(n * LABEL_PX * 0.602) + 8);
    const [wide, high] = [canvas.clientWidth || 300, canvas.clientHeight || 300];
    const side = Math.max(80, Math.min(wide - left - 4, high - below - 4));
    return { left, top: 2, below, side, pixels: Math.round(side * ratio()) };
  };
  const put = (y, x, span) => {
    const size = clamp(span, Math.min(LEAST_SPAN, count()), count());
    if (follows) y = clamp(y, query + 1 - size * 0.9, query - size * 0.1);
    view = { y: clamp(y, 0, count() - size), x: clamp(x, 0, count() - size), span: size };
    soon();
  };
  const zoom = (by, y, x) => {
    const span = clamp(view.span * by, Math.min(LEAST_SPAN, count()), count());
    const grown = span / view.span;
    put(y - (y - view.y) * grown, x - (x - view.x) * grown, span);
  };
  const middle = () => (cursor ? [cursor.y + 0.5, cursor.x + 0.5]
    : [view.y + view.span / 2, view.x + view.span / 2]);
  const centre = (y, x, span) => put(y + 0.5 - span / 2, x + 0.5 - span / 2, span);
  const showRow = () => {
    const { y, x, span } = view;
    const seen = query >= y && query + 1 <= y + span;
    const blank = x > query || (head.window !== null && x + span <= query + 1 - head.window);
    if (seen && !blank) return;
    put(seen ? y : query + 0.5 - span / 2, blank ? query + 0.5 - span * 0.7 : x, span);
  };

  // ---- What is here, and what is asked for

  const take = (sent, body) => {
    const first = head === null;
    const before = head?.count;
    head = sent;
    root.style.setProperty('--accent', sent.accent);
    frameOf.setAttribute('aria-label', sent.label);
    if (sent.number === number) asked = '';  // else its answer is still on its way
    let from = 0;
    const next = length => body.subarray(from, from += length);
    let weights = null;
    if (sent.exact) {
      const size = sent.exact[5] * sent.exact[6] * 4;
      weights = new Float32Array(body.buffer.slice(body.byteOffset, body.byteOffset + size));
      from = size;
    }
    palette = new Uint32Array(next(sent.colours * 4).slice().buffer);
    if (sent.base) {
      if (sent.labels) [labels, labelsOf] = [sent.labels, sent.text];
      named = sent.name;
      exacts = [];
      sources = [source(sent.base, next(sent.base[5] * sent.base[6]))];
    }
    if (sent.tile) {
      const tile = source(sent.tile, next(sent.tile[5] * sent.tile[6]));
      const others = sources.slice(1).filter(s => !(s.by === tile.by && inside(s, tile)));
      sources = [sources[0], ...others.slice(-KEPT + 1), tile].filter(Boolean);
    }
    if (weights) exacts = [source(sent.exact, weights), ...exacts.slice(0, KEPT - 1)];
    // What is missing is asked for.
    if (named !== sent.name || labelsOf !== sent.text || (sources.length && !sources[0].whole)) sources = [];
    if (first || before !== sent.count) {
      view = { y: 0, x: 0, span: sent.count };
      cursor = null;
      query = sent.query;
    }
    const { wanted: ahead, sent: answers } = linkNamed(CHANNEL);
    if (!ahead && !answers.length) frameRow(sent.query);  // else this answers an earlier choice
    if (sources.length) listKeys();
    root.observer ??= new ResizeObserver(soon);
    root.observer.observe(canvas);
    document.addEventListener('headscope:chosen', onChosen);  // once, however often it is said
    soon();
  };
  const source = ([top, left, bottom, right, by, rows, columns], cells) =>
    ({ top, left, bottom, right, by, rows, columns, cells,
       whole: top === 0 && left === 0 && bottom === head.count && right === head.count });
  const inside = (a, b) => a.top >= b.top && a.left >= b.left && a.bottom <= b.bottom && a.right <= b.right;
  const finest = (y, x, among) => among.filter(s => y >= s.top && y < s.bottom && x >= s.left && x < s.right)
    .reduce((best, s) => (!best || s.by <= best.by ? s : best), null);
  const covers = (list, box, by) => list.some(s => s.by <= by && inside(box, s));
  // How many tokens a cell may cover where it is to be no larger than a pixel or two.
  const fineness = () => {
    const pixels = Math.min(place().pixels, MOST_ACROSS);
    return 2 ** Math.max(0, Math.ceil(Math.log2(view.span / pixels)));
  };
  const box = (around, by) => {
    const down = v => Math.max(0, Math.floor(v / by) * by);
    const up = v => Math.min(count(), Math.ceil(v / by) * by);
    const more = view.span * around;
    return { top: down(view.y - more), left: down(view.x - more),
             bottom: up(view.y + view.span + more), right: up(view.x + view.span + more) };
  };
  const ask = () => {
    clearTimeout(asking);
    asking = setTimeout(() => {
      if (!head || !root.isConnected) return;
      const message = { has: sources.length ? named : '', tile: null, exact: wanted, fresh: false };
      const by = fineness();
      const fetched = box(AROUND, by);
      const list = [fetched.top, fetched.left, fetched.bottom, fetched.right, by];
      if (sources.length === 0 || by < sources[0].by) {
        message.tile = list;
        message.fresh = !covers(sources, box(0, by), by);
      }
      if (!message.fresh && !wanted && message.has) return;
      const key = JSON.stringify(message);
      if (key === asked && performance.now() - askedAt < GIVE_UP_MS) return;
      [asked, askedAt] = [key, performance.now()];
      wanted = null;
      status('…');
      send('ask', { ...message, number: ++number });
      clearTimeout(unheard);
      unheard = setTimeout(ask, GIVE_UP_MS);
    }, ASK_MS);
  };

  // ---- Drawing

  const soon = () => {
    if (!drawing) drawing = requestAnimationFrame(() => { drawing = 0; draw(); });
  };
  const draw = () => {
    if (!head || !view || !root.isConnected) return;
    canvas.style.opacity = sources.length ? '' : 0.5;  // the picture before, until this one is here
    if (!sources.length) return ask();
    const at = place();
    const scale = ratio();
    canvas.style.width = '100%';
    canvas.style.height = '100%';
    const [wide, high] = [Math.round(canvas.clientWidth * scale), Math.round(canvas.clientHeight * scale)];
    if (canvas.width !== wide) canvas.width = wide;
    if (canvas.height !== high) canvas.height = high;
    // The map and the keys are beside the picture where that leaves room; else beside the tools,
    // and above the picture.
    const room = canvas.clientWidth - at.left - at.side - 12;
    const [tools, keys, { offsetTop }] = [part('tools'), part('keys'), part('stage')];
    keys.classList.toggle('aside', room > MAP);
    tools.style.paddingRight = room > MAP ? '' : `${LEAST_MAP + 8}px`;
    map.style.width = map.style.height = `${room > MAP ? MAP : LEAST_MAP}px`;
    map.style.top = room > MAP ? `${offsetTop}px` : 0;
    keys.style.top = room > MAP ? `${offsetTop + MAP + 8}px` : '';
    keys.style.maxHeight = room > MAP ? `${canvas.clientHeight - MAP - 8}px` : '';
    keys.style.width = room > MAP ? `${Math.min(room, 160)}px` : '';
    canvas.style.touchAction = view.span < count() ? 'none' : 'pan-y';
    const pen = canvas.getContext('2d');
    pen.setTransform(scale, 0, 0, scale, 0, 0);
    pen.clearRect(0, 0, wide, high);
    hatch(pen, at.left, at.top, at.side);
    pen.imageSmoothingEnabled = false;
    pen.drawImage(raster(view, at.pixels), at.left, at.top, at.side, at.side);
    axes(pen, at);
    marks(pen, at);
    minimap();
    ramp();
    status('');
    if (pointer) pointer = under(pointer.event);
    tell();
    ask();
  };
  const hatch = (pen, left, top, side) => {
    pen.save();
    pen.beginPath();
    pen.rect(left, top, side, side);
    pen.clip();
    pen.strokeStyle = head.hatch;
    pen.lineWidth = 1;
    pen.beginPath();
    for (let d = -side; d < side; d += 6) {
      pen.moveTo(left + d, top + side);
      pen.lineTo(left + d + side, top);
    }
    pen.stroke();
    pen.restore();
  };
  // What is drawn, the coarsest first, without what finer ones cover.
  const seen = (y, x, span) => {
    const all = { top: y, left: x, bottom: y + span, right: x + span };
    const found = [];
    for (const s of [...sources].reverse().sort((a, b) => a.by - b.by)) {
      found.unshift(s);
      if (inside(all, s)) break;
    }
    return found;
  };
  const raster = ({ y, x, span }, pixels) => {
    const image = new ImageData(pixels, pixels);
    const out = new Uint32Array(image.data.buffer);
    const pitch = span / pixels;
    const codes = new Uint8Array(pixels * pixels);
    for (const s of seen(y, x, span)) {
      // Of each pixel's row or column the first cell under it and the one after its last.
      const cells = (start, low, high, most) => {
        const found = [];
        for (let i = 0; i < pixels; i++) {
          const [a, b] = [start + i * pitch, start + (i + 1) * pitch];
          if (a < low - 1e-6 || Math.min(b, count()) > high + 1e-6) continue;
          const one = Math.min(most - 1, Math.floor((a - low) / s.by + 1e-9));
          found.push([i, one, clamp(Math.ceil((b - low) / s.by - 1e-9), one + 1, most)]);
        }
        return found;
      };
      const rows = cells(y, s.top, s.bottom, s.rows);
      const columns = cells(x, s.left, s.right, s.columns);
      let same = -1;
      rows.forEach(([i, a, b], n) => {
        if (n && rows[n - 1][1] === a && rows[n - 1][2] === b && columns.length) {
          const [from, to] = [columns[0][0], columns[columns.length - 1][0] + 1];
          codes.copyWithin(i * pixels + from, same * pixels + from, same * pixels + to);
          return;
        }
        same = i;
        for (const [j, c, d] of columns) {
          let most = 0;
          for (let row = a; row < b; row++) {
            const line = row * s.columns;
            for (let k = c; k < d; k++) if (s.cells[line + k] > most) most = s.cells[line + k];
          }
          codes[i * pixels + j] = most;
        }
      });
    }
    for (let i = 0; i < codes.length; i++) out[i] = palette[codes[i]];
    const sheet = document.createElement('canvas');
    sheet.width = sheet.height = pixels;
    sheet.getContext('2d').putImageData(image, 0, 0);
    return sheet;
  };
  const label = (i, every, longest) => {
    const text = every > 1 ? `${i} ${labels[i]}` : labels[i];
    const signs = [...text];
    return signs.length > longest ? signs.slice(0, longest - 1).join('') + '…' : text;
  };
  const axes = (pen, { left, top, side }) => {
    const pitch = side / view.span;
    const every = STEPS.find(n => n * pitch >= LABEL_PITCH) ?? STEPS[STEPS.length - 1];
    const style = getComputedStyle(frameOf);
    pen.fillStyle = style.color;
    pen.font = `${LABEL_PX}px ${style.getPropertyValue('--st-code-font') || 'monospace'}`;
    pen.textBaseline = 'middle';
    pen.textAlign = 'right';
    const places = start => {
      const found = [];
      for (let i = Math.ceil(Math.max(0, start - 0.5) / every) * every; i < Math.min(count(), start + view.span); i += every) {
        const at = (i + 0.5 - start) * pitch;
        const inner = clamp(at, LABEL_PX / 2, side - LABEL_PX / 2);
        const free = !found.length || inner - found[found.length - 1][1] >= LABEL_PX;
        if (at >= 0 && at <= side && free) found.push([i, inner]);
      }
      return found;
    };
    const chosen = (query + 0.5 - view.y) * pitch;
    for (const [i, at] of places(view.y)) {
      if (Math.abs(at - chosen) < LABEL_PITCH) continue;  // the chosen token's is there
      pen.fillText(label(i, every, LONGEST), left - 4, top + at);
    }
    if (chosen >= 0 && chosen <= side) {
      pen.fillStyle = head.accent;
      pen.fillText(label(query, every, LONGEST), left - 4, top + clamp(chosen, LABEL_PX / 2, side - LABEL_PX / 2));
      pen.fillStyle = style.color;
    }
    for (const [i, at] of places(view.x)) {
      pen.save();
      pen.translate(left + at, top + side + 4);
      pen.rotate(-Math.PI / 2);
      pen.fillText(label(i, every, LONGEST_BELOW), 0, 0);
      pen.restore();
    }
  };
  const marks = (pen, { left, top, side }) => {
    const pitch = side / view.span;
    const [across, down] = [x => left + (x - view.x) * pitch, y => top + (y - view.y) * pitch];
    pen.save();
    pen.beginPath();
    pen.rect(left - 6, top - 6, side + 12, side + 12);
    pen.clip();
    pen.strokeStyle = head.accent;
    pen.lineWidth = 1.5;
    const thick = Math.max(pitch, 3);
    const row = down(query + 0.5);
    pen.strokeRect(left, row - thick / 2, side, thick);
    if (follows && query === head.query) {
      for (const [key] of head.keys) {
        pen.beginPath();
        pen.arc(across(key + 0.5), row, Math.max(5, pitch * 0.75), 0, 2 * Math.PI);
        pen.stroke();
      }
    }
    if (cursor) {
      const size = Math.max(pitch, 7);
      for (const [colour, width] of [[head.ground, 4], [getComputedStyle(frameOf).color, 2]]) {
        pen.strokeStyle = colour;
        pen.lineWidth = width;
        pen.strokeRect(across(cursor.x + 0.5) - size / 2, down(cursor.y + 0.5) - size / 2, size, size);
      }
    }
    pen.restore();
  };
  let mapped = null;
  const minimap = () => {
    const pixels = Math.max(1, Math.round(map.clientWidth * ratio()));
    const key = `${head.name} ${pixels} ${head.accent}`;
    if (mapped?.key !== key) {
      const all = sources;
      sources = sources.slice(0, 1);
      mapped = { key, sheet: raster({ y: 0, x: 0, span: count() }, pixels) };
      sources = all;
    }
    if (map.width !== pixels) map.width = map.height = pixels;
    const pen = map.getContext('2d');
    pen.clearRect(0, 0, pixels, pixels);
    pen.drawImage(mapped.sheet, 0, 0);
    const per = pixels / count();
    const size = Math.max(4 * ratio(), view.span * per);
    const from = start => clamp((start + view.span / 2) * per - size / 2, 0, pixels - size);
    pen.lineWidth = 2 * ratio();
    pen.strokeStyle = head.accent;
    pen.strokeRect(from(view.x), from(view.y), size, size);
  };
  const ramp = () => {
    const strip = part('ramp');
    const shades = head.colours - head.lowest;
    if (strip.width !== shades) strip.width = shades;
    strip.height = 1;
    const image = new ImageData(shades, 1);
    new Uint32Array(image.data.buffer).set(palette.subarray(head.lowest));
    strip.getContext('2d').putImageData(image, 0, 0);
    const by = finest(view.y + view.span / 2, view.x + view.span / 2, sources).by;
    const each = by === 1 ? 'each cell is a weight' : `a cell is the largest of ${by} × ${by}`;
    part('words').textContent = `weight ${head.scale}; ${each}`;
  };

  // ---- Words

  const span = (from, by) => {
    if (by === 1) return `${from} · ${labels[from]}`;
    const last = Math.min(from + by, count()) - 1;
    const all = labels.slice(from, Math.min(last + 1, from + 8)).join(' ');
    return `${from}–${last} · ${all}${last - from >= 8 ? ' …' : ''}`;
  };
  const why = (y, x) => {
    if (x > y) return 'cannot attend: later token';
    if (head.window !== null && y - x >= head.window) return `cannot attend: before the window of ${head.window} tokens`;
    return 'hidden: first token';
  };
  // The cell under a place: the strongest of those that its pixel covers.
  const cellAt = (y, x) => {
    const s = finest(Math.floor(y), Math.floor(x), sources);
    if (!s) return null;
    const reach = view.span / place().pixels;
    const range = (at, low, most) => {
      const one = Math.min(most - 1, Math.floor((at - low) / s.by));
      return [one, clamp(Math.ceil((at + reach - low) / s.by), one + 1, most)];
    };
    const [a, b] = range(y, s.top, s.rows);
    const [c, d] = range(x, s.left, s.columns);
    let best = { row: a, column: c, code: -1 };
    const few = reach > s.by;  // else the cell itself
    for (let row = a; row < (few ? b : a + 1); row++) {
      for (let column = c; column < (few ? d : c + 1); column++) {
        const code = s.cells[row * s.columns + column];
        if (code > best.code) best = { row, column, code };
      }
    }
    return { y: s.top + best.row * s.by, x: s.left + best.column * s.by, by: s.by, code: best.code };
  };
  const exactly = cell => {
    for (const e of exacts) {
      const [row, column] = [(cell.y - e.top) / e.by, (cell.x - e.left) / e.by];
      const fits = e.by === cell.by && Number.isInteger(row) && Number.isInteger(column);
      if (fits && row >= 0 && column >= 0 && row < e.rows && column < e.columns) {
        return e.cells[row * e.columns + column];
      }
    }
    return undefined;
  };
  const about = code => {
    const part = (code - head.lowest) / (head.colours - 1 - head.lowest);
    return head.log ? head.floor * (head.top / head.floor) ** part : part * head.top;
  };
  const words = cell => {
    const exact = exactly(cell);
    const name = cell.by === 1 ? 'weight' : 'largest weight';
    const number = exact === undefined ? `about ${Number(about(cell.code).toPrecision(2))}`
      : String(Number(exact.toPrecision(6)));
    const said = cell.code < head.lowest ? why(cell.y, cell.x) : `${name} ${number}${head.of}`;
    return `query ${span(cell.y, cell.by)}\nkey ${span(cell.x, cell.by)}\n${said}`;
  };
  const status = waiting => {
    const range = (from, more) => `${Math.floor(from)}–${Math.min(count(), Math.ceil(from + more)) - 1}`;
    const cell = cursor ? cellAt(cursor.y, cursor.x) : null;
    const where = view.span >= count() ? `all ${count().toLocaleString('en')} tokens`
      : `queries ${range(view.y, view.span)}, keys ${range(view.x, view.span)}`;
    const text = cell ? words(cell).replaceAll('\n', ' · ') : `${where} ${waiting}`;
    const line = part('state');
    if (line.textContent !== text) line.textContent = text;
    line.title = text;
    if (cell) want(cell);
  };
  const want = cell => {
    clearTimeout(resting);
    if (cell.code < head.lowest || exactly(cell) !== undefined) return;
    resting = setTimeout(() => {
      const half = (PATCH / 2) * cell.by;
      const low = at => Math.max(0, at - half);
      const high = at => Math.min(count(), at + half);
      wanted = [low(cell.y), low(cell.x), high(cell.y), high(cell.x), cell.by];
      asked = '';
      ask();
    }, REST_MS);
  };
  const tell = () => {
    if (!pointer || !sources.length) return;
    const cell = cellAt(pointer.y, pointer.x);
    if (!cell) return;
    placeTip(tip, words(cell), pointer.event);
    want(cell);
  };
  const hush = () => {
    pointer = null;
    clearTimeout(resting);
    tip.style.display = 'none';
  };

  // ---- Choosing, following, finding

  const choose = token => {
    hush();
    if (token !== query) chooseThrough(CHANNEL, token);
  };
  const frameRow = token => {
    if (token === query) return;
    query = token;
    follows ? toRow() : showRow();
    listKeys();
    soon();
  };
  const onChosen = ({ detail: { name, value } }) => {
    if (name === CHANNEL && head && value < count()) frameRow(value);
  };
  const toRow = () => put(query + 0.5 - view.span / 2, view.x, view.span);
  const follow = on => {
    follows = on;
    listKeys();
    if (on) toRow();
    soon();
  };
  const listKeys = () => {
    part('follow').setAttribute('aria-pressed', follows);
    const list = part('keys');
    list.classList.toggle('on', follows);
    if (!follows) return list.replaceChildren();
    const name = make('span', '', `${query} “${labels[query]}” looks at`);
    if (query !== head.query) return list.replaceChildren(name);  // its keys are on their way
    list.replaceChildren(name, ...head.keys.map(([key, weight]) => {
      const chip = make('button', '', `${key} ${labels[key]} ${figure(weight)}`);
      chip.type = 'button';
      chip.title = `Show query ${query}, key ${key}`;
      chip.onclick = () => put(view.y, key + 0.5 - view.span / 2, view.span);
      return chip;
    }));
  };
  // The next token that is these words, else the next one that they begin in; -1 where none is.
  const tokenOf = text => {
    const plain = label => label.replaceAll('␣', ' ').toLowerCase();
    const [sought, all] = [plain(text).trim(), labels.map(plain)];
    for (let i = 1; i <= count(); i++) {
      if (all[(query + i) % count()].trim() === sought) return (query + i) % count();
    }
    const ends = [];
    all.forEach((label, i) => ends.push((ends[i - 1] ?? 0) + label.length));
    const whole = all.join('');
    const next = whole.indexOf(sought, ends[query]);
    const found = next < 0 ? whole.indexOf(sought) : next;
    return found < 0 ? -1 : ends.findIndex(end => end > found);
  };
  const find = () => {
    const field = part('find');
    const text = field.value.trim();
    if (!text) return;
    let at = /^\d+$/.test(text) ? Number(text) : -1;
    if (at < 0 || at >= count()) at = tokenOf(text);
    field.setAttribute('aria-invalid', at < 0);
    if (at < 0) {
      part('state').textContent = `no token is “${text}” among 0–${count() - 1}`;
      return;
    }
    cursor = null;
    const close = Math.min(view.span, 96);
    follows ? put(at - close / 2, at - close * 0.7, close) : centre(at, at - close * 0.2, close);
    choose(at);
  };

  // ---- Pointer and keys

  const under = event => {
    const { left, top, side } = place();
    const seen = canvas.getBoundingClientRect();
    const [px, py] = [event.clientX - seen.left - left, event.clientY - seen.top - top];
    const on = px >= 0 && py >= 0 && px < side && py < side;
    const tokens = view.span / side;
    return { y: view.y + py * tokens, x: view.x + px * tokens, on, event, tokens };
  };
  let held = null;
  const fingers = new Map();  // where each is that touches the picture
  let pinched = null;  // how it was when the second came down
  const middleOf = () => {
    const [a, b] = [...fingers.values()];
    const between = { clientX: (a.clientX + b.clientX) / 2, clientY: (a.clientY + b.clientY) / 2 };
    const apart = Math.hypot(a.clientX - b.clientX, a.clientY - b.clientY);
    return { at: under(between), apart: Math.max(apart, 10) };
  };
  const pinch = () => {
    const { at, apart } = middleOf();
    const size = clamp(pinched.span * pinched.apart / apart, Math.min(LEAST_SPAN, count()), count());
    const grown = size / view.span;  // what was between the fingers stays between them
    put(pinched.at.y - (at.y - view.y) * grown, pinched.at.x - (at.x - view.x) * grown, size);
  };
  const lift = event => {
    fingers.delete(event.pointerId);
    if (fingers.size < 2) pinched = null;
  };
  // Scrolls the page with one finger where nothing is to be dragged, never with two.
  canvas.addEventListener('touchstart', event => {
    if (event.touches.length > 1) event.preventDefault();
  }, { passive: false });
  canvas.onwheel = event => {
    const at = under(event);
    if (!at.on || (view.span >= count() && event.deltaY > 0)) return;  // the page's own
    event.preventDefault();
    cursor = null;
    const moved = event.deltaY * (event.deltaMode === 1 ? 16 : 1);
    zoom(Math.exp(clamp(moved, -400, 400) * 0.002), at.y, at.x);
    pointer = under(event);
    tell();
  };
  canvas.onpointerdown = event => {
    const at = under(event);
    if (event.button !== 0 || !at.on) return;
    canvas.setPointerCapture(event.pointerId);
    if (event.pointerType === 'touch') fingers.set(event.pointerId, event);
    if (fingers.size === 2) {
      hush();
      [held, cursor, pinched] = [null, null, { ...middleOf(), span: view.span }];
    } else if (fingers.size < 2) {
      held = { at, view: { ...view }, moved: false };
    }
  };
  canvas.onpointermove = event => {
    if (fingers.has(event.pointerId)) fingers.set(event.pointerId, event);
    if (pinched) return pinch();
    const at = under(event);
    if (held) {
      const { clientX, clientY } = held.at.event;
      const [dx, dy] = [event.clientX - clientX, event.clientY - clientY];
      held.moved ||= Math.hypot(dx, dy) > 4;
      if (!held.moved) return;
      hush();
      cursor = null;
      canvas.classList.add('held');
      put(held.view.y - dy * at.tokens, held.view.x - dx * at.tokens, view.span);
      return;
    }
    if (!at.on) return hush();
    pointer = at;
    tell();
  };
  canvas.onpointerup = event => {
    lift(event);
    canvas.classList.remove('held');
    const [at, dragged] = [held?.at, held?.moved];
    held = null;
    if (!at || dragged) return;
    clearTimeout(clicking);
    const token = Math.floor(cellAt(at.y, at.x)?.y ?? at.y);
    clicking = setTimeout(() => {  // or it was the first of two
      choose(token);
      if (event.pointerType !== 'touch') return;
      pointer = under(event);  // no finger rests above a cell: its weight stays to be read
      tell();
    }, CLICK_MS);
  };
  canvas.onpointercancel = event => {
    lift(event);
    held = null;
    canvas.classList.remove('held');
  };
  canvas.onpointerleave = event => { if (!held && event.pointerType !== 'touch') hush(); };
  canvas.ondblclick = () => {
    clearTimeout(clicking);
    put(0, 0, count());
  };
  const look = event => {
    const seen = map.getBoundingClientRect();
    const at = (from, size) => clamp(from / size, 0, 1) * count();
    cursor = null;
    centre(at(event.clientY - seen.top, seen.height), at(event.clientX - seen.left, seen.width), view.span);
  };
  map.onpointerdown = event => { map.setPointerCapture(event.pointerId); look(event); };
  map.onpointermove = event => { if (event.buttons) look(event); };
  part('in').onclick = () => zoom(0.5, ...middle());
  part('out').onclick = () => zoom(2, ...middle());
  part('all').onclick = () => put(0, 0, count());
  part('follow').onclick = () => follow(!follows);
  part('find').onkeydown = event => {
    event.stopPropagation();
    if (event.key === 'Enter') find();
    if (event.key === 'Escape') frameOf.focus();
  };
  const move = (down, across) => {
    const by = finest(view.y + view.span / 2, view.x + view.span / 2, sources)?.by ?? 1;
    cursor ??= { y: clamp(query, Math.ceil(view.y), Math.floor(view.y + view.span - 1)),
                 x: Math.floor(view.x + view.span / 2) };
    const steps = view.span <= 64 ? 1 : Math.max(by, Math.round(view.span / 32));
    cursor.y = clamp(cursor.y + down * steps, 0, count() - 1);
    cursor.x = clamp(cursor.x + across * steps, 0, count() - 1);
    centre(cursor.y, cursor.x, view.span);
  };
  frameOf.onkeydown = event => {
    if (event.ctrlKey || event.metaKey || event.altKey || !head) return;
    const many = event.shiftKey ? 8 : 1;
    const does = {
      ArrowUp: () => move(-many, 0), ArrowDown: () => move(many, 0),
      ArrowLeft: () => move(0, -many), ArrowRight: () => move(0, many),
      '+': () => zoom(0.5, ...middle()), '=': () => zoom(0.5, ...middle()),
      '-': () => zoom(2, ...middle()), _: () => zoom(2, ...middle()),
      0: () => put(0, 0, count()), Escape: () => { cursor = null; soon(); },
      f: () => follow(!follows), F: () => follow(!follows),
    }[event.key];
    if (does) {
      event.preventDefault();
      does();
    } else if (event.key === 'Enter' && cursor && event.target === frameOf) {
      event.preventDefault();
      choose(cellAt(cursor.y, cursor.x)?.y ?? cursor.y);
    }
  };
  frameOf.onblur = () => { cursor = null; soon(); };
  const stop = () => {
    root.observer?.disconnect();
    root.observer = null;
    document.removeEventListener('headscope:chosen', onChosen);
    [asking, resting, clicking, unheard].forEach(clearTimeout);
    hush();
  };
  return { take, stop };
}
