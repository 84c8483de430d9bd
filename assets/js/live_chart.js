// Draws a growing figure onto a chart that is already there. Streamlit would mount the chart anew
// at each change of its data, which flickers; so Python gives it a figure that stays the same, and
// gives this component the figures to put over it.

const PATIENCE_MS = 8000;
const WATCH_MS = 500;
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
      if (found.data !== place.figure.data) place.timer = setTimeout(put, 0, place);
    };
    found.on('plotly_afterplot', place.again);
    place.watch = setInterval(look, WATCH_MS, place);
  }
  // The chart has its own idea of its size.
  const { width, height, autosize } = found.layout;
  const { data, layout } = place.figure;
  window.Plotly.react(found, data, { ...layout, width, height, autosize }, found._context);
}

// Full screen, and who knows what else, mounts the chart anew without a word.
function look(place) {
  const found = document.querySelector(place.selector);
  if (found?.data && found.data !== place.figure.data) put(place);
}

function leave(place) {
  clearTimeout(place.timer);
  clearInterval(place.watch);
  place.chart?.removeListener?.('plotly_afterplot', place.again);
  place.chart = null;
  place.shown = null;
}
