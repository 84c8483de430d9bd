// Put before the code of components that draw on a Plotly chart. Streamlit mounts a chart anew
// whenever its figure changes, which shows as a blank and takes several times as long as drawing. So
// it holds one figure for good, and the present one is drawn over it here.

const PATIENCE_MS = 8000;
const WATCH_MS = 500;
const TRY_MS = 30;
// One a place, kept from call to call: an older call must not put its older figure back.
const overlays = new WeakMap();

function overlayOf(place) {
  if (!overlays.has(place)) overlays.set(place, {});
  return overlays.get(place);
}

// What is wanted of an overlay:
//   chart           the key of the chart's container
//   figure          its data and layout; the same object is not drawn twice
//   adapt(figure)   the figure as it is drawn, given the chart that it is drawn on
//   fit(chart)      a number; where it changes, the figure is adapted and drawn again
//   attach(chart)   called once with each chart that is found; returns what undoes it
//   after(chart)    called whenever the present figure is there
//   missing()       there is no chart, or nothing to draw it with
function drawOver(over, wanted) {
  Object.assign(over, wanted, { until: performance.now() + PATIENCE_MS });
  putOver(over);
}

function putOver(over) {
  clearTimeout(over.timer);
  const found = document.querySelector(`.st-key-${over.chart} .js-plotly-plot`);
  if (!found?.data || !found.on || !window.Plotly) {
    if (performance.now() < over.until) over.timer = setTimeout(putOver, TRY_MS, over);
    else over.missing();
    return;
  }
  if (found !== over.found) bindOver(over, found);
  if (!isUnder(over, found)) {
    over.after?.(found);
    return;
  }
  over.fitted = over.fit?.(found);
  over.source = over.figure;
  // Plotly writes into a layout, such as the room that square cells leave; the chart has its own
  // idea of its size.
  const { data, layout } = over.adapt ? over.adapt(over.figure, over.fitted) : over.figure;
  const { width, height, autosize } = found.layout;
  over.data = data;
  const drawn = { ...structuredClone(layout), width, height, autosize };
  window.Plotly.react(found, data, drawn, found._context);
}

function bindOver(over, found) {
  leaveOver(over);
  over.found = found;
  over.data = null;
  over.again = () => {
    // A resize, or a mount, has drawn the figure underneath.
    if (isUnder(over, found)) over.timer = setTimeout(putOver, 0, over);
    else over.after?.(found);
  };
  found.on('plotly_afterplot', over.again);
  over.watch = setInterval(lookOver, WATCH_MS, over);
  over.detach = over.attach?.(found);
}

// Full screen, and who knows what else, mounts the chart anew without a word.
function lookOver(over) {
  const found = document.querySelector(`.st-key-${over.chart} .js-plotly-plot`);
  if (found?.data && (found !== over.found || isUnder(over, found))) putOver(over);
}

// Whether what the chart shows is not what is wanted of it.
function isUnder(over, found) {
  return over.source !== over.figure || found.data !== over.data || over.fit?.(found) !== over.fitted;
}

function leaveOver(over) {
  clearTimeout(over.timer);
  clearInterval(over.watch);
  over.found?.removeListener?.('plotly_afterplot', over.again);
  over.detach?.();
  over.found = over.detach = null;
}
