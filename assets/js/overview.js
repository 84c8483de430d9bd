// The map of layers × heads on one canvas. A click or the arrow keys choose a head.

const MAP_CSS = `
  .map { position: relative; outline: none; font: .75rem/1.3 var(--st-font);
         color: var(--st-text-color); }
  canvas { display: block; image-rendering: pixelated; cursor: pointer; border-radius: 2px; }
  .map:focus-visible { box-shadow: 0 0 0 2px var(--st-primary-color); border-radius: 4px; }
  .said { min-height: 1.3em; margin-top: .15rem; white-space: nowrap; overflow: hidden;
          text-overflow: ellipsis; opacity: .75; }
`;
const GAP = 2;
const LABELS = 14;
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

  const geometry = () => {
    const width = map.clientWidth || 240;
    const tile = Math.max(7, Math.min(header.largest, Math.floor((width - LABELS) / heads) - GAP));
    return { tile, pitch: tile + GAP };
  };
  const draw = () => {
    const { tile, pitch } = geometry();
    const ratio = window.devicePixelRatio || 1;
    const [width, height] = [LABELS + heads * pitch, LABELS + layers * pitch];
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
    for (let h = 0; h < heads; h++) {
      if (pitch >= 12 || h % 4 === 0) pen.fillText(h, LABELS + h * pitch + tile / 2, LABELS / 2 - 1);
    }
    for (let l = 0; l < layers; l++) {
      if (pitch >= 12 || l % 4 === 0) pen.fillText(l, LABELS / 2 - 1, LABELS + l * pitch + tile / 2);
      for (let h = 0; h < heads; h++) {
        pen.drawImage(tiles, h * side, l * side, side, side,
                      LABELS + h * pitch, LABELS + l * pitch, tile, tile);
      }
    }
    pen.strokeStyle = header.accent;
    pen.lineWidth = 2;
    pen.strokeRect(LABELS + head * pitch - 1, LABELS + layer * pitch - 1, tile + 2, tile + 2);
  };
  const name = (l, h) => {
    const tag = header.tags[l][h];
    return `layer ${l} · head ${h}${tag ? ': ' + tag : ''}`;
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
    const { pitch } = geometry();
    const box = canvas.getBoundingClientRect();
    const h = Math.floor((event.clientX - box.left - LABELS) / pitch);
    const l = Math.floor((event.clientY - box.top - LABELS) / pitch);
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
    choose(layer + move[0], head + move[1], SEND_AFTER_MS);
  };
  said.textContent = name(layer, head);
  draw();
  const resized = new ResizeObserver(draw);
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
