// The link between a Plotly chart and Python: clicks, the frame around what is chosen, and for
// the grid the hover. Streamlit mounts a chart anew whenever its data change, so this looks for it
// again; choosing draws only the frame. Meanwhile a copy of the old picture stands in its place.

const UNCRAMP_MS = 150;  // after the last drawing
const LEAST_LABEL_PX = 9;

export default function (component) {
  const { header, body } = unpack(component.data);
  const root = rootOf(component, TIP_CSS, element => element.append(make('div', 'tip')));
  root.stop?.();  // Streamlit calls this anew for new data without ending the call before
  const tip = root.firstChild;
  const weights = header.kind === 'grid' ? new Float32Array(body.buffer) : null;
  const parts = header.kind === 'grid' ? grid(header, weights) : detail(header);
  let [chart, timer] = [null, null];

  const onHover = event => {
    const words = parts.words && parts.words(event.points[0]);
    if (!words) return onLeave();
    placeTip(tip, words, event.event);
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
  // Plotly keeps cells square by a smaller domain and writes it into the figure. Drawn again in a
  // place of another height, it takes that for the room it has, and stays small.
  const uncramp = () => {
    const cramped = ['xaxis', 'yaxis'].some(name => {
      const domain = chart?._fullLayout?.[name]?._inputDomain;
      return domain && (domain[0] !== 0 || domain[1] !== 1);
    });
    if (!cramped || !window.Plotly) return;
    window.Plotly.relayout(chart, { 'xaxis.domain': [0, 1], 'yaxis.domain': [0, 1] }).then(keepCopy);
  };
  // Streamlit draws its own figure again when the page is resized: then the frame is put back.
  const onDrawn = () => {
    if (!picture()) return;
    if (header.kind === 'detail') fitLabels(chart);
    place()?.ghost?.remove();
    const there = JSON.stringify((chart?.layout.shapes ?? []).map(s => [s.x0, s.x1, s.y0, s.y1]));
    const wanted = JSON.stringify(parts.shapes.map(s => [s.x0, s.x1, s.y0, s.y1]));
    clearTimeout(timer);
    timer = setTimeout(uncramp, UNCRAMP_MS);
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
  root.stop = () => {
    observer.disconnect();
    clearTimeout(timer);
    leave();
  };
  return root.stop;
}

// A window that is not high leaves the cells lower than a label: then labels are smaller, and below
// what can be read some are left out.
function fitLabels(chart) {
  const axes = chart?._fullLayout;
  if (!axes) return;
  for (const [name, axis] of [['xtick', axes.xaxis], ['ytick', axes.yaxis]]) {
    const labels = [...chart.querySelectorAll(`.${name} text`)];
    const [first, last] = axis.range;
    const pitch = Math.abs(axis._length / (last - first)) * labelStep(axis);
    const size = Math.max(LEAST_LABEL_PX, Math.min(axis.tickfont.size, pitch));
    const every = Math.max(1, Math.ceil(size / pitch - 0.01));
    labels.forEach((label, i) => {
      label.style.fontSize = `${size}px`;
      label.style.visibility = i % every ? 'hidden' : '';
    });
  }
}

// How many cells lie between two labels.
function labelStep(axis) {
  return axis.tickvals?.length > 1 ? axis.tickvals[1] - axis.tickvals[0] : 1;
}

// Why a cell without a weight has none.
function unseen({ window, reach }, y, x) {
  if (x > y) return 'cannot attend: later token';
  if (reach !== null && y - x >= reach) return `cannot attend: before the window of ${window} tokens`;
  return 'hidden: first token';
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
    const said = !Number.isNaN(weight)
      ? `${step === 1 ? 'weight' : 'largest weight'} ${figure(weight)}${header.of}`
      : unseen(header, at.y, at.x);
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
      : unseen(header, y, x);
    return `query ${span(y)}\nkey ${span(x)}\n${said}`;
  };
  return {
    words,
    event: 'query',
    chosen: point => (Array.isArray(point.pointIndex) ? point.pointIndex[0] * step : null),
    shapes: row === null ? [] : [frame(-0.5, row - 0.5, row + 0.5, row + 0.5, accent, 1.5)],
  };
}
