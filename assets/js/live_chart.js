// Draws a growing figure onto a chart that is already there. Streamlit would mount the chart anew
// at each change of its data, which flickers; so Python gives it a figure that stays the same, and
// gives this component the figures to put over it.

const PATIENCE_MS = 8000;

export default function (component) {
  const { chart, figure } = component.data;
  const { data, layout } = JSON.parse(figure);
  const started = performance.now();
  let drawn = null;
  let timer = null;

  const put = () => {
    clearTimeout(timer);
    const found = document.querySelector(`.st-key-${chart} .js-plotly-plot`);
    if (!found || !found.data || !found.on || !window.Plotly) {
      if (performance.now() - started < PATIENCE_MS) timer = setTimeout(put, 60);
      else component.setTriggerValue('missing', true);
      return;
    }
    if (found !== drawn) {
      leave();
      drawn = found;
      drawn.on('plotly_afterplot', again);
    }
    // The chart has its own idea of its size.
    const { width, height, autosize } = found.layout;
    window.Plotly.react(found, data, { ...layout, width, height, autosize }, found._context);
  };
  // A resize, or a mount, has drawn the figure underneath.
  const again = () => { if (drawn && drawn.data !== data) timer = setTimeout(put, 0); };
  const leave = () => {
    clearTimeout(timer);
    drawn?.removeListener?.('plotly_afterplot', again);
    drawn = null;
  };
  put();
  return leave;
}
