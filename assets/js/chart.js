// The link between a Plotly chart and Python: its figure, clicks, the frame around what is chosen,
// and the hover. Choosing draws only the frame, and the head where its weights are in the page.

const LEAST_LABEL_PX = 9;
const SEND_AFTER_MS = 90;
const KINDS = { grid, detail };

export default function (component) {
  const { header, body } = unpack(component.data);
  const root = rootOf(component, TIP_CSS, element => element.append(make('div', 'tip')));
  // Kept from call to call; what listens to the chart asks for the present state.
  root.now ??= { figure: null };
  const now = root.now;
  const { text } = now;
  now.at = header.at;
  Object.assign(now, { component, header, text: header.figure, tip: root.firstChild });
  now.parts = KINDS[header.kind](header, body);
  if (text !== now.text || now.ahead) now.figure = JSON.parse(now.text);
  now.ahead = false;
  now.figure.layout.shapes = now.parts.shapes();  // drawn along with another figure
  const over = overlayOf(root);
  drawOver(over, {
    chart: header.chart,
    figure: now.figure,
    attach: chart => listen(now, chart),
    after: chart => {
      const { wanted, sent, shown } = linkNamed(header.channel);
      if (wanted || sent?.length) drawAhead(now, chart, shown);  // this answers a choice before
      drawn(now, chart);
    },
    missing: () => component.setTriggerValue('missing', true),
  });
  // Chosen in another picture.
  const onChosen = ({ detail }) => {
    const { found } = over;
    if (!found || detail.name !== header.channel || found.data !== over.data) return;
    drawAhead(now, found, detail.value);
    drawn(now, found);
  };
  document.addEventListener('headscope:chosen', onChosen);
  return () => {
    document.removeEventListener('headscope:chosen', onChosen);
    leaveOver(over);
  };
}

function listen(now, chart) {
  const onLeave = () => { now.tip.style.display = 'none'; };
  const onHover = event => {
    const words = now.parts.words(event.points[0]);
    if (words) placeTip(now.tip, words, event.event);
    else onLeave();
  };
  const onClick = event => now.parts.choose(event.points[0], now.component);
  const onKey = event => { if (now.parts.key(event.key)) event.preventDefault(); };
  chart.on('plotly_hover', onHover);
  chart.on('plotly_unhover', onLeave);
  chart.on('plotly_click', onClick);
  if (now.parts.key) {
    chart.tabIndex = 0;
    chart.setAttribute('role', 'group');
    chart.addEventListener('keydown', onKey);
  }
  return () => {
    onLeave();
    chart.removeListener?.('plotly_hover', onHover);
    chart.removeListener?.('plotly_unhover', onLeave);
    chart.removeListener?.('plotly_click', onClick);
    chart.removeEventListener('keydown', onKey);
  };
}

// A head whose weights are in the page is drawn before Python has answered.
function drawAhead(now, chart, at) {
  const cells = String(at) !== String(now.at) && now.parts.cells?.(at);
  if (!cells) return;
  Object.assign(now, { at, ahead: true });
  const trace = chart.data.findIndex(({ type }) => type === 'heatmap');
  window.Plotly.restyle(chart, { z: [cells] }, [trace]);
}

// The figure is there; the frame may have moved since.
function drawn({ header, parts }, chart) {
  chart.setAttribute('aria-label', header.label);
  if (header.kind === 'detail') fitLabels(chart);
  const corners = shapes => JSON.stringify((shapes ?? []).map(s => [s.x0, s.x1, s.y0, s.y1]));
  if (corners(chart.layout.shapes) !== corners(parts.shapes())) {
    window.Plotly.relayout(chart, { shapes: parts.shapes() });
  }
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

function grid(header, body) {
  const weights = new Float32Array(body.buffer);
  const { side, pitchX, pitchY, columns, heads, step, labels, layer, channel, accent } = header;
  const place = point => {
    const [row, column] = point.pointIndex;
    const head = Math.floor(row / pitchY) * columns + Math.floor(column / pitchX);
    const [y, x] = [row % pitchY, column % pitchX];
    return head < heads && x < side && y < side ? { head, y, x } : null;
  };
  linkNamed(channel).weights = { run: header.run, layer, side: step === 1 ? side : 0, weights };
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
  const chosen = () => {
    const shown = linkNamed(channel).shown;
    return shown && shown[0] === layer ? shown[1] : null;
  };
  const moves = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -columns, ArrowDown: columns };
  const key = name => {
    if (!(name in moves)) return false;
    const next = (chosen() ?? 0) + moves[name];
    if (next >= 0 && next < heads) chooseThrough(channel, [layer, next], SEND_AFTER_MS);
    return true;
  };
  const choose = point => {
    const at = place(point);
    if (at) chooseThrough(channel, [layer, at.head]);
  };
  const shapes = () => {
    const head = chosen();
    if (head === null) return [];
    const [top, left] = [Math.floor(head / columns) * pitchY, (head % columns) * pitchX];
    const edge = side * 0.02;
    return [frame(left - 0.5 - edge, top - 0.5 - edge, left + side - 0.5 + edge,
                  top + side - 0.5 + edge, accent, 3)];
  };
  return { words, key, choose, shapes };
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
  const choose = (point, component) => {
    if (Array.isArray(point.pointIndex)) component.setTriggerValue('query', point.pointIndex[0] * step);
  };
  const shapes = () =>
    (row === null ? [] : [frame(-0.5, row - 0.5, row + 0.5, row + 0.5, accent, 1.5)]);
  const cells = ([layer, head]) => {
    const { run, side, weights, ...known } = linkNamed(header.channel).weights ?? {};
    const there = run === header.run && layer === known.layer && side === labels.length;
    if (!there || !header.plain) return null;
    const start = head * side * side;
    return labels.map((_, y) => weights.subarray(start + y * side, start + (y + 1) * side));
  };
  return { words, choose, shapes, cells };
}
