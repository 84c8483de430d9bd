// Draws a growing figure onto a chart that is already there. Streamlit would mount the chart anew
// at each change of its data, which flickers; so Python gives it a figure that stays the same, and
// gives this component the figures to put over it.

// A large window is one that is read from afar: text and marks grow with the chart.
const LAPTOP_PX = { width: 960, height: 400 };
const LARGEST = 1.6;

export default function (component) {
  const over = overlayOf(component.parentElement);
  const { chart, figure } = component.data;
  if (figure !== over.text) {
    over.text = figure;
    over.parsed = JSON.parse(figure);
  }
  drawOver(over, {
    chart,
    figure: over.parsed,
    fit: factor,
    adapt: enlarged,
    missing: () => component.setTriggerValue('missing', true),
  });
  return () => leaveOver(over);
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
