// Draws a growing figure onto a chart that is already there. Streamlit would mount the chart anew
// at each change of its data, which flickers; so Python gives it a figure that stays the same, and
// gives this component the figures to put over it.

const PATIENCE_MS = 8000;
const WATCH_MS = 500;
// A large window is one that is read from afar: text and marks grow with the chart.
const LAPTOP_PX = { width: 960, height: 400 };
const LARGEST = 1.6;
// One a place, kept from call to call: an older call must not put its older figure back.
const places = new WeakMap();

export default function (component) {
  const root = component.parentElement;
  if (!places.has(root)) places.set(root, { shown: null, chart: null, timer: null });
  const place = places.get(root);
  const { chart, figure } = component.data;
  if (figure === place.shown) return () => leave(place);
  place.shown = figure;
  place.figure = JSON.parse(figure);
  place.selector = `.st-key-${chart} .js-plotly-plot`;
  place.until = performance.now() + PATIENCE_MS;
  place.give_up = () => component.setTriggerValue('missing', true);
  put(place);
  return () => leave(place);
}

function put(place) {
  clearTimeout(place.timer);
  const found = document.querySelector(place.selector);
  if (!found || !found.data || !found.on || !window.Plotly) {
    if (performance.now() < place.until) place.timer = setTimeout(put, 60, place);
    else place.give_up();
    return;
  }
  if (found !== place.chart) {
    leave(place);
    place.chart = found;
    place.again = () => {
      // A resize, or a mount, has drawn the figure underneath.
      if (isOld(place, found)) place.timer = setTimeout(put, 0, place);
    };
    found.on('plotly_afterplot', place.again);
    place.watch = setInterval(look, WATCH_MS, place);
  }
  // The chart has its own idea of its size.
  const { width, height, autosize } = found.layout;
  place.factor = factor(found);
  place.drawn = enlarged(place.figure, place.factor);
  const { data, layout } = place.drawn;
  window.Plotly.react(found, data, { ...layout, width, height, autosize }, found._context);
}

// Full screen, and who knows what else, mounts the chart anew without a word.
function look(place) {
  const found = document.querySelector(place.selector);
  if (found?.data && isOld(place, found)) put(place);
}

function isOld(place, found) {
  return found.data !== place.drawn?.data || factor(found) !== place.factor;
}

function factor(found) {
  const { width, height } = found._fullLayout ?? {};
  const room = Math.min(width / LAPTOP_PX.width, height / LAPTOP_PX.height) || 1;
  return Math.round(20 * Math.max(1, Math.min(room, LARGEST))) / 20;
}

// The figure with its fonts, markers, lines and margins so many times as large.
function enlarged(value, times, key = '', within = '') {
  if (typeof value === 'number') {
    const isSize = key === 'size' || within === 'margin' || (key === 'width' && within === 'line');
    if (key === 'ticklabelstandoff') return Math.round(value * times);  // Plotly drops a fraction
    return isSize ? value * times : value;
  }
  if (Array.isArray(value)) {
    return value.map(v => (v && typeof v === 'object' ? enlarged(v, times, key, within) : v));
  }
  if (!value || typeof value !== 'object') return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [name, enlarged(inner, times, name, key)]));
}

function leave(place) {
  clearTimeout(place.timer);
  clearInterval(place.watch);
  place.chart?.removeListener?.('plotly_afterplot', place.again);
  place.chart = null;
  place.shown = null;
}
