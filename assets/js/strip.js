// The tokens as chips and the text itself, both shaded by what the chosen token looks at.

const STRIP_CSS = `
  .chips { display: flex; flex-wrap: wrap; align-content: flex-start; gap: 3px; min-height: 3.1rem;
           max-height: 4.8rem; overflow-y: auto;
           padding: 2px; }
  .chip { font: .8125rem/1.35 var(--st-code-font); padding: .05rem .3rem; border-radius: .25rem;
          border: 1px solid var(--st-border-color); background: none; color: var(--st-text-color);
          cursor: pointer; white-space: pre; unicode-bidi: isolate; max-width: 100%;
          overflow: hidden; text-overflow: ellipsis; }
  .chip:hover { border-color: var(--st-text-color); }
  .chip:focus-visible { outline: 2px solid var(--st-primary-color); outline-offset: 1px; }
  .chip.chosen { box-shadow: 0 0 0 2px var(--accent); border-color: transparent; }
  .chip.later { opacity: .5; border-style: dashed; }
  .source { margin: .3rem 2px 0; font: .9375rem/1.5 var(--st-font); color: var(--st-text-color);
            white-space: pre-wrap; overflow-wrap: anywhere; min-height: 1.5em; max-height: 4.5em; overflow-y: auto; }
  .source .later { opacity: .45; }
  .source .chosen { box-shadow: inset 0 -2px 0 var(--accent); }
`;
const SEND_AFTER_MS = 90;

export default function (component) {
  const data = component.data;
  const root = rootOf(component, STRIP_CSS, element => {
    const chips = make('div', 'chips');
    chips.setAttribute('role', 'listbox');
    const source = make('div', 'source');
    source.dir = 'auto';
    element.append(chips, source);
  });
  const [chips, source] = root.children;
  root.style.setProperty('--accent', data.accent);
  chips.setAttribute('aria-label', 'Tokens: choose the one whose row is looked at');
  let query = data.query;
  let timer = null;

  const send = (index, wait) => {
    query = index;
    mark();
    clearTimeout(timer);
    timer = setTimeout(() => component.setTriggerValue('query', query), wait);
  };
  const mark = () => {
    [...chips.children].forEach((chip, i) => {
      chip.classList.toggle('chosen', i === query);
      chip.setAttribute('aria-selected', i === query);
      chip.tabIndex = i === query ? 0 : -1;
    });
  };
  const focused = chips.contains(chips.getRootNode().activeElement);
  while (chips.children.length > data.labels.length) chips.lastChild.remove();
  data.labels.forEach((label, i) => {
    let chip = chips.children[i];
    if (!chip) {
      chip = make('button', 'chip');
      chip.type = 'button';
      chip.setAttribute('role', 'option');
      chips.append(chip);
    }
    chip.textContent = label;
    chip.title = `${i} · ${label}: ${data.said[i]}`;
    chip.classList.toggle('later', i > data.query || i < data.first);
    shade(chip, data.shades[i], data.heat);
    chip.onclick = () => send(i, 0);
  });
  chips.onkeydown = event => {
    const last = data.labels.length - 1;
    const to = { ArrowLeft: query - 1, ArrowUp: query - 1, ArrowRight: query + 1,
                 ArrowDown: query + 1, Home: 0, End: last }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    if (to < 0 || to > last) return;
    send(to, SEND_AFTER_MS);
    chips.children[to].focus();
  };
  mark();
  if (focused && chips.children[query]) chips.children[query].focus();

  source.replaceChildren(...data.pieces.map(([text, piece, isQuery, isUnseen]) => {
    const span = make('span', '', text);
    span.classList.toggle('later', isUnseen);
    span.classList.toggle('chosen', isQuery);
    shade(span, piece, data.heat);
    return span;
  }));
  return () => clearTimeout(timer);
}

// The heat behind a token; dark text where the heat is strong, whatever the theme.
function shade(element, strength, heat) {
  const shown = strength === null ? 0 : strength;
  element.style.backgroundColor = `rgba(${heat}, ${shown})`;
  element.style.color = shown > 0.45 ? '#12141C' : '';
}
