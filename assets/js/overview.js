// The map of layers × heads on one canvas. A click or the arrow keys choose a head. Layers go down,
// or across where that leaves the tiles more room: a model of many layers must not push all else
// out of sight. A pixel has the highest code of the cells under it, so that a single strong weight
// never drops out. What is framed, and who tells Python of a choice: linkNamed in shared.js.

const SIDES = 8;  // px left and right, together: the frame of the focus covers nothing
const MAP_CSS = `
  ${TIP_CSS}
  .tip { max-width: 30rem; }
  .map { position: relative; outline: none; padding: 0 ${SIDES / 2}px; font: .75rem/1.3 var(--st-font);
         color: var(--st-text-color); }
  canvas { display: block; cursor: pointer; border-radius: 2px; touch-action: manipulation; }
  .map:focus-visible { outline: 2px solid var(--st-primary-color); outline-offset: -2px;
                       border-radius: 4px; }
  .said { min-height: 1.3em; margin-top: .15rem; white-space: nowrap; overflow: hidden;
          text-overflow: ellipsis; opacity: .75; font-variant-numeric: tabular-nums; }
  .large .said { font-size: .8125rem; }
  .room { position: absolute; width: 0; height: 0; overflow: hidden; visibility: hidden; }
  .room div { height: var(--headscope-map-height, clamp(20rem, calc(100vh - 24rem), 60rem)); }
  @media (max-width: 900px) {
    .room div { height: var(--headscope-map-height, max(24rem, calc(100vh - 8rem))); }
  }
`;
// Sizes in px. A map is as high as its room, unless its tiles would be too small to hit.
const SMALL = { room: 150, pitch: 7, label: 11, title: 0, frame: 2, turns: 1 };
const LARGE = { room: 0, pitch: 16, label: 12, title: 15, frame: 3, turns: 1.25 };
const STEPS = [1, 2, 5, 10, 20, 50, 100, 1000];
const SEND_AFTER_MS = 90;

export default function (component) {
  const { header, body } = unpack(component.data);
  const root = rootOf(component, MAP_CSS, build);
  root.component = component;
  root.map ??= mapIn(root);
  root.map?.take(header, body);
  return () => root.map?.stop();
}

function build(element) {
  const map = make('div', 'map');
  map.tabIndex = 0;
  map.setAttribute('role', 'application');
  map.setAttribute('aria-describedby', 'picture');
  const canvas = make('canvas');
  canvas.id = 'picture';
  canvas.setAttribute('role', 'img');
  const said = make('div', 'said');
  said.setAttribute('aria-live', 'polite');
  const room = make('div', 'room');
  room.append(make('div'));
  map.append(canvas, said, room);
  element.append(map, make('div', 'tip'));
}

function mapIn(root) {
  const [map, canvas, said, room, tip] = ['.map', 'canvas', '.said', '.room div', '.tip']
    .map(selector => root.querySelector(selector));
  const pen = canvas.getContext('2d');
  if (!pen) {
    root.component.setTriggerValue('missing', true);
    return undefined;
  }
  let header = null;
  let cells = null;
  let palette = null;
  let done = new Map();  // layer to its place among the cells
  let sheet = null;  // all tiles as they were painted last
  let pointer = null;  // the last event of a mouse that is on the map
  let hovered = null;
  let screen = null;

  const take = (sent, body) => {
    header = sent;
    palette = new Uint32Array(body.slice(0, sent.colours * 4).buffer);
    cells = body.subarray(sent.colours * 4);
    done = new Map(sent.done.map((layer, at) => [layer, at]));
    sheet = null;
    map.classList.toggle('large', sent.large);
    map.setAttribute('aria-label', sent.label);
    canvas.setAttribute('aria-label', sent.described);
    document.addEventListener('headscope:chosen', onChosen);
    watchScreen();
    resized.observe(map);
    resized.observe(room);
    redraw();
    hover();
  };
  const stop = () => {
    document.removeEventListener('headscope:chosen', onChosen);
    screen?.removeEventListener('change', sharper);
    resized.disconnect();
    onLeave();
  };
  const onChosen = ({ detail }) => {
    if (detail.name === header.channel) redraw();
  };
  const redraw = () => {
    draw();
    say();
  };
  const resized = new ResizeObserver(redraw);
  // Zooming the page, or another screen, may leave all sizes as they are.
  const sharper = () => {
    watchScreen();
    redraw();
  };
  const watchScreen = () => {
    screen?.removeEventListener('change', sharper);
    screen = window.matchMedia(`(resolution: ${window.devicePixelRatio}dppx)`);
    screen.addEventListener('change', sharper);
  };
  const exists = (l, h) => l >= 0 && h >= 0 && l < header.layers && h < header.heads;
  const chosen = () => {
    const shown = linkNamed(header.channel).shown;
    return shown && exists(...shown) ? shown : null;
  };

  // ---- Where things are, in the canvas's own pixels

  const geometry = () => {
    const ratio = window.devicePixelRatio || 1;
    const { layers, heads, large } = header;
    const size = large ? LARGE : SMALL;
    pen.font = `${size.label * ratio}px ${getComputedStyle(map).fontFamily}`;
    const digits = pen.measureText('0'.repeat(String(Math.max(layers, heads) - 1).length)).width;
    const title = size.title * ratio;
    const left = Math.ceil(title + digits + 5 * ratio);
    const top = Math.ceil(title + (size.label + 4) * ratio);
    const width = (map.clientWidth - SIDES) * ratio - left - size.frame * ratio;
    const height = (size.room || room.offsetHeight) * ratio - top;
    const fit = (columns, rows) => {
      const high = Math.max(size.pitch * ratio, height / rows);
      const largest = (header.largest + 2) * ratio;
      return Math.max(2, Math.floor(Math.min(largest, high, width / columns)));
    };
    const [down, across] = [fit(heads, layers), fit(layers, heads)];
    // Layers go down, unless that is too high where the other way is not, or has smaller tiles.
    const fits = down * layers <= height || across * heads > height;
    const turned = across > down * (fits ? size.turns : 0.8);
    const pitch = turned ? across : down;
    const gap = Math.max(1, Math.round((pitch > 40 * ratio ? 4 : pitch > 8 * ratio ? 2 : 1) * ratio));
    const [columns, rows] = turned ? [layers, heads] : [heads, layers];
    return { ratio, size, digits, title, left, top, turned, pitch, tile: pitch - gap, columns, rows };
  };
  const corner = ({ turned, pitch }, l, h) => (turned ? [l, h] : [h, l]).map(n => n * pitch);
  const under = event => {
    const g = geometry();
    const box = canvas.getBoundingClientRect();
    const across = Math.floor(((event.clientX - box.left) * g.ratio - g.left) / g.pitch);
    const down = Math.floor(((event.clientY - box.top) * g.ratio - g.top) / g.pitch);
    const at = g.turned ? [across, down] : [down, across];
    return exists(...at) ? at : null;
  };

  // ---- Drawing

  const draw = () => {
    if (!header || !map.clientWidth) return;
    const g = geometry();
    const { ratio, left, top, pitch, tile, columns, rows, size } = g;
    const key = [tile, pitch, columns, rows].join();
    if (sheet?.key !== key) sheet = { key, tiles: paint(g) };
    const wide = left + columns * pitch + size.frame * ratio;
    const high = top + rows * pitch + size.frame * ratio;
    if (canvas.width !== wide) canvas.width = wide;
    if (canvas.height !== high) canvas.height = high;
    canvas.style.width = `${wide / ratio}px`;
    canvas.style.height = `${high / ratio}px`;
    pen.clearRect(0, 0, wide, high);
    pen.drawImage(sheet.tiles, left, top);
    label(g);
    const box = (l, h, colour, width) => {
      const [x, y] = corner(g, l, h);
      pen.strokeStyle = colour;
      pen.lineWidth = width;
      pen.strokeRect(left + x - width / 2, top + y - width / 2, tile + width, tile + width);
    };
    if (hovered) box(...hovered, getComputedStyle(map).color, ratio);
    if (chosen()) box(...chosen(), header.accent, size.frame * ratio);
    // For who waits for the picture and looks for a head in it: px from the canvas's corner.
    map.dataset.tiles = [left, top, pitch, tile].map(n => n / ratio).join(' ');
    map.dataset.turned = g.turned;
    map.dataset.painted = `${done.size}/${header.layers}`;
    map.dataset.run = header.run;
  };
  const paint = g => {
    const { tile, pitch, columns, rows, ratio } = g;
    const { layers, heads, side } = header;
    const made = document.createElement('canvas');
    [made.width, made.height] = [columns * pitch, rows * pitch];
    const image = new ImageData(made.width, made.height);
    const out = new Uint32Array(image.data.buffer);
    // The first cell under each pixel of a tile, and the one after its last.
    const spans = Array.from({ length: tile }, (_, i) => {
      const first = Math.floor(i * side / tile);
      return [first, Math.max(first + 1, Math.floor((i + 1) * side / tile))];
    });
    for (const [l, at] of done) {
      for (let h = 0; h < heads; h++) {
        const [x0, y0] = corner(g, l, h);
        const from = (at * heads + h) * side * side;
        spans.forEach(([a, b], y) => {
          let to = (y0 + y) * made.width + x0;
          for (const [c, d] of spans) {
            let most = 0;
            for (let line = from + a * side; line < from + b * side; line += side) {
              for (let k = line + c; k < line + d; k++) if (cells[k] > most) most = cells[k];
            }
            out[to++] = palette[most];
          }
        });
      }
    }
    const brush = made.getContext('2d');
    brush.putImageData(image, 0, 0);
    brush.strokeStyle = header.faint;
    brush.lineWidth = Math.max(1, Math.round(ratio));
    for (let l = 0; l < layers; l++) {
      for (let h = 0; h < heads && !done.has(l); h++) {
        const [x, y] = corner(g, l, h).map(n => n + brush.lineWidth / 2);
        brush.strokeRect(x, y, tile - brush.lineWidth, tile - brush.lineWidth);
      }
    }
    return made;
  };
  const label = g => {
    const { ratio, size, digits, title, left, top, pitch, tile, columns, rows } = g;
    pen.fillStyle = getComputedStyle(map).color;
    pen.font = `${size.label * ratio}px ${getComputedStyle(map).fontFamily}`;
    pen.textBaseline = 'middle';
    const every = room => STEPS.find(n => n * pitch >= room);
    pen.textAlign = 'center';
    for (let n = 0; n < columns; n += every(digits + 4 * ratio)) {
      pen.fillText(n, left + n * pitch + tile / 2, title + size.label * 0.6 * ratio);
    }
    pen.textAlign = 'right';
    for (let n = 0; n < rows; n += every(size.label * ratio)) {
      pen.fillText(n, left - 4 * ratio, top + n * pitch + tile / 2);
    }
    if (!title) return;
    const [across, down] = g.turned ? ['layer', 'head'] : ['head', 'layer'];
    pen.textAlign = 'left';
    pen.fillText(`${across} →`, left, title * 0.45);
    pen.save();
    pen.translate(title * 0.45, top);
    pen.rotate(-Math.PI / 2);
    pen.textAlign = 'right';
    pen.fillText(`← ${down}`, 0, 0);
    pen.restore();
  };

  // ---- Words

  const name = (l, h) => {
    const words = done.has(l) ? header.words[l][h] : header.waiting;
    return `layer ${l} · head ${h}${words ? `: ${words}` : ''}`;
  };
  const say = () => {
    const at = chosen();
    const turned = !header.large && geometry().turned ? ' (layers go across)' : '';
    const words = at ? name(...at) + turned : '';
    if (said.textContent !== words) said.textContent = words;
    said.title = words;
  };
  const hover = () => {
    const before = String(hovered);
    hovered = pointer && under(pointer);
    if (hovered) placeTip(tip, name(...hovered), pointer);
    else tip.style.display = 'none';
    if (String(hovered) !== before) draw();
  };
  const onLeave = () => {
    pointer = null;
    if (header) hover();
  };

  // ---- Choosing

  const choose = (l, h, wait) => {
    if (exists(l, h)) chooseThrough(header.channel, [l, h], wait);
  };
  canvas.onclick = event => {
    const at = under(event);
    if (at) choose(...at, 0);
  };
  canvas.onpointermove = event => {
    if (event.pointerType === 'touch') return;
    pointer = event;
    hover();
  };
  canvas.onpointerleave = onLeave;
  map.onfocus = () => {
    said.textContent = '';  // said anew
    say();
  };
  map.onkeydown = event => {
    const at = chosen();
    if (!at || event.ctrlKey || event.metaKey || event.altKey) return;
    const [l, h] = at;
    const move = (down, across) => (geometry().turned ? [l + across, h + down] : [l + down, h + across]);
    const next = {
      ArrowLeft: () => move(0, -1), ArrowRight: () => move(0, 1),
      ArrowUp: () => move(-1, 0), ArrowDown: () => move(1, 0),
      Home: () => [l, 0], End: () => [l, header.heads - 1], Enter: () => at,
    }[event.key];
    if (!next) return;
    event.preventDefault();
    const waits = linkNamed(header.channel).wanted;
    if (event.key !== 'Enter') choose(...next(), SEND_AFTER_MS);
    else if (waits) choose(...at, 0);
  };
  return { take, stop };
}
