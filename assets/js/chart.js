// The link between a Plotly chart and Python: clicks, the frame around what is chosen, and for
// the grid the hover. Streamlit mounts a chart anew whenever its data change, so this looks for it
// again; choosing draws only the frame. Meanwhile a copy of the old picture stands in its place.

const TIP_CSS = `
  .tip { position: fixed; z-index: 1000000; pointer-events: none; display: none; max-width: 22rem;
         padding: .35rem .55rem; border-radius: .3rem; border: 1px solid var(--st-border-color);
         background: var(--st-background-color); color: var(--st-text-color); white-space: pre-line;
         font: .8125rem/1.35 var(--st-code-font); overflow-wrap: anywhere;
         box-shadow: 0 2px 8px rgba(0,0,0,.25); }
`;

export default function (component) {
  const { header, body } = unpack(component.data);
  const tip = rootOf(component, TIP_CSS, root => root.append(make('div', 'tip'))).firstChild;
  const weights = header.kind === 'grid' ? new Float32Array(body.buffer) : null;
  const parts = header.kind === 'grid' ? grid(header, weights) : detail(header);
  let chart = null;

  const onHover = event => {
    const words = parts.words && parts.words(event.points[0]);
    if (!words) return onLeave();
    tip.textContent = words;
    tip.style.display = 'block';
    const { clientX: x, clientY: y } = event.event;
    const box = tip.getBoundingClientRect();
    tip.style.left = `${Math.max(4, Math.min(x + 14, window.innerWidth - box.width - 8))}px`;
    tip.style.top = `${y + 18 + box.height > window.innerHeight ? y - box.height - 10 : y + 18}px`;
  };
  const onLeave = () => { tip.style.display = 'none'; };
  const onClick = event => {
    const chosen = parts.chosen(event.points[0]);
    if (chosen !== null) component.setTriggerValue(parts.event, chosen);
  };
  const onKey = event => {
    const next = parts.key && parts.key(event.key);
    if (next === undefined || next === null) return;
    event.preventDefault();
    component.setTriggerValue(parts.event, next);
  };
  // Streamlit draws its own figure again when the page is resized: then the frame is put back.
  const onDrawn = () => {
    if (!picture()) return;
    place()?.ghost?.remove();
    const there = JSON.stringify((chart?.layout.shapes ?? []).map(s => [s.x0, s.x1, s.y0, s.y1]));
    const wanted = JSON.stringify(parts.shapes.map(s => [s.x0, s.x1, s.y0, s.y1]));
    if (chart && window.Plotly && there !== wanted) {
      window.Plotly.relayout(chart, { shapes: parts.shapes }).then(keepCopy);
    } else {
      keepCopy();
    }
  };
  const picture = () => document.querySelector(`.st-key-${header.chart} .heatmaplayer image`);
  const place = () => document.querySelector(`.st-key-${header.chart}_place`);
  const keepCopy = () => {
    const [drawn, at] = [chart?.querySelector('.plot-container'), place()];
    if (!drawn?.querySelector('.heatmaplayer image') || !at) return;
    at.ghost?.remove();
    at.ghost = make('div', 'headscope-ghost');
    at.ghost.style.cssText = 'position:absolute; inset:0; pointer-events:none; overflow:hidden;';
    at.ghost.setAttribute('aria-hidden', 'true');
    at.ghost.append(drawn.cloneNode(true));
    if (at.guard) return;
    // Lives with the place, not with this call: a chart may go while no call is there to see it.
    // A place that has left the page must end it: what is put there never shows, and each try would
    // call it again, for ever.
    at.guard = new MutationObserver(() => {
      if (!at.isConnected) at.guard.disconnect();
      else if (!picture() && !at.ghost.isConnected) at.append(at.ghost);
    });
    at.guard.observe(at, { childList: true, subtree: true });
  };
  const leave = () => {
    onLeave();
    if (!chart) return;
    chart.removeListener?.('plotly_hover', onHover);
    chart.removeListener?.('plotly_unhover', onLeave);
    chart.removeListener?.('plotly_click', onClick);
    chart.removeListener?.('plotly_afterplot', onDrawn);
    chart.removeEventListener('keydown', onKey);
    chart = null;
  };
  const attach = () => {
    const found = document.querySelector(`.st-key-${header.chart} .js-plotly-plot`);
    if (!found || !found.on || found === chart) return;
    leave();
    chart = found;
    chart.on('plotly_hover', onHover);
    chart.on('plotly_unhover', onLeave);
    chart.on('plotly_click', onClick);
    if (parts.key) {
      chart.tabIndex = 0;
      chart.setAttribute('role', 'group');
      chart.setAttribute('aria-label', header.label);
      chart.addEventListener('keydown', onKey);
    }
    chart.on('plotly_afterplot', onDrawn);
    onDrawn();
  };
  const observer = new MutationObserver(attach);
  observer.observe(document.body, { childList: true, subtree: true });
  attach();
  return () => {
    observer.disconnect();
    leave();
  };
}

// A frame in the chart's own cells.
function frame(left, top, right, bottom, colour, width) {
  return { type: 'rect', x0: left, x1: right, y0: top, y1: bottom, line: { color: colour, width },
           layer: 'above' };
}

function grid(header, weights) {
  const { side, pitchX, pitchY, columns, heads, step, labels, accent } = header;
  const place = point => {
    const [row, column] = point.pointIndex;
    const head = Math.floor(row / pitchY) * columns + Math.floor(column / pitchX);
    const [y, x] = [row % pitchY, column % pitchX];
    return head < heads && x < side && y < side ? { head, y, x } : null;
  };
  const span = spans(labels, step);
  const words = point => {
    const at = place(point);
    if (!at) return '';
    const weight = weights[(at.head * side + at.y) * side + at.x];
    const hidden = header.hideFirst && at.x === 0;
    const said = !Number.isNaN(weight)
      ? `${step === 1 ? 'weight' : 'largest weight'} ${figure(weight)}${header.of}`
      : hidden ? 'hidden: first token' : 'cannot attend: later token';
    return `head ${header.layer}.${at.head}\nquery ${span(at.y)}\nkey ${span(at.x)}\n${said}`;
  };
  const moves = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -columns, ArrowDown: columns };
  const key = name => {
    if (!(name in moves)) return null;
    const next = header.head + moves[name];
    return next >= 0 && next < heads ? next : header.head;
  };
  const top = Math.floor(header.head / columns) * pitchY;
  const left = (header.head % columns) * pitchX;
  const edge = side * 0.02;
  return {
    event: 'head', words, key,
    chosen: point => place(point)?.head ?? null,
    shapes: [frame(left - 0.5 - edge, top - 0.5 - edge, left + side - 0.5 + edge,
                   top + side - 0.5 + edge, accent, 3)],
  };
}

// What a cell's side stands for: one token, or the tokens that are pooled in it.
function spans(labels, step) {
  return cell => {
    const last = Math.min(cell * step + step, labels.length) - 1;
    if (step === 1) return `${cell} · ${labels[cell]}`;
    return `${cell * step}–${last} · ${labels.slice(cell * step, last + 1).join(' ')}`;
  };
}

function detail(header) {
  const { query, labels, step, accent } = header;
  const span = spans(labels, step);
  const row = query === null ? null : Math.floor(query / step);
  const words = point => {
    if (!Array.isArray(point.pointIndex)) return '';
    const [y, x] = point.pointIndex;
    const weight = point.customdata ?? point.z;
    const shown = typeof weight === 'number' && !Number.isNaN(weight);
    const said = shown
      ? `${step === 1 ? 'weight' : 'largest weight'} ${figure(weight)}${header.of}`
      : x > y ? 'cannot attend: later token' : 'hidden: first token';
    return `query ${span(y)}\nkey ${span(x)}\n${said}`;
  };
  return {
    words,
    event: 'query',
    chosen: point => (Array.isArray(point.pointIndex) ? point.pointIndex[0] * step : null),
    shapes: row === null ? [] : [frame(-0.5, row - 0.5, row + 0.5, row + 0.5, accent, 1.5)],
  };
}
