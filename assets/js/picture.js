// Buttons that save a Plotly chart of this page as it looks now. The browser draws the file itself:
// the server needs none for it, and nothing leaves the machine.

const PICTURE_CSS = `
  .pictures { display: flex; gap: 1rem; }
  .pictures button { font: inherit; font-family: var(--st-font); font-size: .875rem; line-height: 1.6;
    min-height: 2.5rem; padding: .25rem .75rem; cursor: pointer;
    color: var(--st-text-color); background: var(--st-background-color);
    border: 1px solid var(--st-border-color); border-radius: var(--st-button-radius, .5rem); }
  .pictures button:hover { color: var(--st-primary-color); border-color: var(--st-primary-color); }
  .pictures button:focus-visible { outline: 2px solid var(--st-primary-color); outline-offset: 1px; }
  .pictures button:disabled { opacity: .4; cursor: not-allowed; }
`;
const FORMATS = ['png', 'svg'];
const PRINTED_PX = 1920;  // at least as wide is a PNG, for a slide

export default function (component) {
  const data = component.data;
  const root = rootOf(component, PICTURE_CSS, element => {
    const row = make('div', 'pictures');
    for (const format of FORMATS) {
      const button = make('button', '', format.toUpperCase());
      button.type = 'button';
      button.title = `Saves the chart as it looks now, as ${format.toUpperCase()}`;
      row.append(button);
    }
    element.append(row);
  });
  [...root.querySelectorAll('button')].forEach((button, i) => {
    button.disabled = data.disabled;
    button.onclick = () => save(FORMATS[i], data);
  });
}

function save(format, { chart, name, background }) {
  const found = document.querySelector(`.st-key-${chart} .js-plotly-plot`);
  if (!found?.data || !window.Plotly) return;
  const { width, height } = found.getBoundingClientRect();
  // A picture cannot take the page's own font along: in another one, words that were laid out with
  // it would run over each other.
  const font = { ...found.layout.font, family: 'sans-serif' };
  const layout = { ...found.layout, width, height, font, paper_bgcolor: background };
  const scale = format === 'png' ? Math.max(2, PRINTED_PX / width) : 1;
  window.Plotly.downloadImage({ data: found.data, layout }, { format, filename: name, scale, width, height });
}
