// The map of layers × heads on one canvas. A click or the arrow keys choose a head. Layers go down,
// or across where that leaves the tiles more room: a model of many layers must not push all else
// out of sight.

const MAP_CSS = `
  .map { position: relative; outline: none; font: .75rem/1.3 var(--st-font);
         color: var(--st-text-color); }
  canvas { display: block; image-rendering: pixelated; cursor: pointer; border-radius: 2px; }
  .map:focus-visible { box-shadow: 0 0 0 2px var(--st-primary-color); border-radius: 4px; }
  .said { min-height: 1.3em; margin-top: .15rem; white-space: nowrap; overflow: hidden;
          text-overflow: ellipsis; opacity: .75; }
`;
const LABELS = 14;
const HIGHEST = 150;  // px, unless the tiles would be too small to hit
const LEAST_PITCH = 7;
const SEND_AFTER_MS = 90;

export default function (component) {
  const { header, body } = unpack(component.data);
  const root = rootOf(component, MAP_CSS, element => {
    const map = make('div', 'map');
    map.tabIndex = 0;
    map.setAttribute('role', 'application');
    const said = make('div', 'said');
    said.setAttribute('aria-live', 'polite');
    map.append(make('canvas'), said);
    element.append(map);
  });
  const map = root.querySelector('.map');
  const canvas = root.querySelector('canvas');
  const said = root.querySelector('.said');
  map.setAttribute('aria-label', header.label);

  const { layers, heads, side } = header;
  const tiles = paint(header, body);
  let [layer, head] = header.chosen;
  let timer = null;

  const fit = (columns, rows, width) => {
    const high = Math.max(LEAST_PITCH, Math.floor((HIGHEST - LABELS) / rows));
    const pitch = Math.min(header.largest + 2, high, Math.floor((width - LABELS) / columns));
    return Math.max(2, pitch);
  };
  // Columns and rows, the tile's size, and where the tile of a layer and head begins.
  const geometry = () => {
    const width = map.clientWidth || 240;
    const [down, across] = [fit(heads, layers, width), fit(layers, heads, width)];
    const turned = across > down;
    const pitch = turned ? across : down;
    const [columns, rows] = turned ? [layers, heads] : [heads, layers];
    const corner = (l, h) => [turned ? l : h, turned ? h : l].map(n => LABELS + n * pitch);
    return { turned, pitch, tile: pitch - (pitch > 8 ? 2 : 1), columns, rows, corner };
  };
  const draw = () => {
    const { turned, tile, pitch, columns, rows, corner } = geometry();
    const ratio = window.devicePixelRatio || 1;
    const [width, height] = [LABELS + columns * pitch, LABELS + rows * pitch];
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
    const pen = canvas.getContext('2d');
    pen.scale(ratio, ratio);
    pen.imageSmoothingEnabled = tile < side;
    const style = getComputedStyle(map);
    pen.font = `10px ${style.fontFamily}`;
    pen.fillStyle = style.color;
    pen.textAlign = 'center';
    pen.textBaseline = 'middle';
    const every = pitch >= 12 ? 1 : pitch >= 5 ? 4 : 8;
    for (let n = 0; n < columns; n += every) {
      pen.fillText(n, LABELS + n * pitch + tile / 2, LABELS / 2 - 1);
    }
    for (let n = 0; n < rows; n += every) {
      pen.fillText(n, LABELS / 2 - 1, LABELS + n * pitch + tile / 2);
    }
    for (let l = 0; l < layers; l++) {
      for (let h = 0; h < heads; h++) {
        pen.drawImage(tiles, h * side, l * side, side, side, ...corner(l, h), tile, tile);
      }
    }
    pen.strokeStyle = header.accent;
    pen.lineWidth = 2;
    const [x, y] = corner(layer, head);
    pen.strokeRect(x - 1, y - 1, tile + 2, tile + 2);
  };
  const name = (l, h) => {
    const tag = header.tags[l][h];
    const turned = geometry().turned ? ' (layers go across)' : '';
    return `layer ${l} · head ${h}${tag ? ': ' + tag : ''}${turned}`;
  };
  const choose = (l, h, wait) => {
    if (l < 0 || h < 0 || l >= layers || h >= heads) return;
    [layer, head] = [l, h];
    said.textContent = name(l, h);
    draw();
    clearTimeout(timer);
    timer = setTimeout(() => component.setTriggerValue('head', [layer, head]), wait);
  };
  const under = event => {
    const { turned, pitch } = geometry();
    const box = canvas.getBoundingClientRect();
    const across = Math.floor((event.clientX - box.left - LABELS) / pitch);
    const down = Math.floor((event.clientY - box.top - LABELS) / pitch);
    const [l, h] = turned ? [across, down] : [down, across];
    return l >= 0 && h >= 0 && l < layers && h < heads ? [l, h] : null;
  };
  canvas.onclick = event => {
    const at = under(event);
    if (at) choose(at[0], at[1], 0);
  };
  canvas.onmousemove = event => {
    const at = under(event);
    said.textContent = at ? name(...at) : name(layer, head);
  };
  canvas.onmouseleave = () => { said.textContent = name(layer, head); };
  map.onkeydown = event => {
    const moves = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };
    const move = moves[event.key];
    if (!move) return;
    event.preventDefault();
    const [down, across] = move;
    const [l, h] = geometry().turned ? [across, down] : [down, across];
    choose(layer + l, head + h, SEND_AFTER_MS);
  };
  const resized = new ResizeObserver(() => {
    draw();
    said.textContent = name(layer, head);
  });
  resized.observe(map);
  return () => {
    resized.disconnect();
    clearTimeout(timer);
  };
}

// All thumbnails on a canvas of their own, a pixel a cell.
function paint({ layers, heads, side, colours }, body) {
  const [palette, cells] = [body.subarray(0, colours * 4), body.subarray(colours * 4)];
  const canvas = document.createElement('canvas');
  canvas.width = heads * side;
  canvas.height = layers * side;
  const image = new ImageData(canvas.width, canvas.height);
  let from = 0;
  for (let l = 0; l < layers; l++) {
    for (let h = 0; h < heads; h++) {
      for (let y = 0; y < side; y++) {
        for (let x = 0; x < side; x++, from++) {
          const to = ((l * side + y) * canvas.width + h * side + x) * 4;
          image.data.set(palette.subarray(cells[from] * 4, cells[from] * 4 + 4), to);
        }
      }
    }
  }
  canvas.getContext('2d').putImageData(image, 0, 0);
  return canvas;
}
