// A bar for each implementation's time, its spread as a thin line.

const BARS_CSS = `
  .bars { display: grid; grid-template-columns: max-content minmax(4rem, 1fr) max-content;
          gap: .2rem .6rem; align-items: center; font: .875rem/1.3 var(--st-font);
          color: var(--st-text-color); }
  .time { font-variant-numeric: tabular-nums; text-align: right; white-space: pre; }
  .track { position: relative; height: .85rem; }
  .bar { position: absolute; inset: 0 auto 0 0; border-radius: 2px; }
  .spread { position: absolute; top: 50%; height: 2px; margin-top: -1px;
            background: var(--st-text-color); opacity: .6; }
  .name.chosen { font-weight: 600; }
`;

export default function (component) {
  const { rows } = component.data;
  const root = rootOf(component, BARS_CSS, element => element.append(make('div', 'bars')));
  const bars = root.firstChild;
  bars.setAttribute('role', 'img');
  bars.setAttribute('aria-label', rows.map(r => `${r.title} ${r.time}`).join(', '));
  const longest = Math.max(...rows.map(r => r.high));
  bars.replaceChildren(...rows.flatMap(row => {
    const track = make('div', 'track');
    const bar = make('div', 'bar');
    bar.style.width = `${(row.median / longest) * 100}%`;
    bar.style.background = row.colour;
    const spread = make('div', 'spread');
    spread.style.left = `${(row.low / longest) * 100}%`;
    spread.style.width = `${((row.high - row.low) / longest) * 100}%`;
    track.append(bar, spread);
    track.title = row.detail;
    const name = make('div', row.chosen ? 'name chosen' : 'name', row.title);
    return [name, track, make('div', 'time', row.time)];
  }));
}
