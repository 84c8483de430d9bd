// Put before every component's own code.

// Takes apart what `pack` in components/mounting.py put together.
function unpack(bytes) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const length = view.getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(bytes.subarray(4, 4 + length)));
  return { header, body: bytes.slice(4 + length) };
}

// An element with a class, and text that is only ever text.
function make(tag, className, text) {
  const element = document.createElement(tag);
  if (className) element.className = className;
  if (text !== undefined) element.textContent = text;
  return element;
}

// Three significant figures, without a leading zero's worth of noise: 0.913, 0.00021, 1.
function figure(value) {
  if (value === 0) return '0';
  return String(Number(value.toPrecision(3)));
}

// The root that stays the same from one call of a component to the next.
function rootOf(component, css, build) {
  const parent = component.parentElement;
  let root = parent.querySelector('.headscope-root');
  if (!root) {
    const style = make('style', '', css);
    root = make('div', 'headscope-root');
    parent.append(style, root);
    build(root);
  }
  return root;
}

// A few words beside the pointer.
const TIP_CSS = `
  .tip { position: fixed; z-index: 1000000; pointer-events: none; display: none; max-width: 22rem;
         padding: .35rem .55rem; border-radius: .3rem; border: 1px solid var(--st-border-color);
         background: var(--st-background-color); color: var(--st-text-color); white-space: pre-line;
         font: .8125rem/1.35 var(--st-code-font); overflow-wrap: anywhere;
         box-shadow: 0 2px 8px rgba(0,0,0,.25); }
`;

function placeTip(tip, words, { clientX: x, clientY: y }) {
  tip.textContent = words;
  tip.style.display = 'block';
  const box = tip.getBoundingClientRect();
  tip.style.left = `${Math.max(4, Math.min(x + 14, window.innerWidth - box.width - 8))}px`;
  tip.style.top = `${y + 18 + box.height > window.innerHeight ? y - box.height - 10 : y + 18}px`;
}

// A frame in the chart's own cells.
function frame(left, top, right, bottom, colour, width) {
  return { type: 'rect', x0: left, x1: right, y0: top, y1: bottom, line: { color: colour, width },
           layer: 'above' };
}

// What a cell's side stands for: one token, or the tokens that are pooled in it.
function spans(labels, step) {
  return cell => {
    const last = Math.min(cell * step + step, labels.length) - 1;
    if (step === 1) return `${cell} · ${labels[cell]}`;
    return `${cell * step}–${last} · ${labels.slice(cell * step, last + 1).join(' ')}`;
  };
}

// What is chosen in one component is framed in others and told to Python by a third, its link
// (link.js), whichever of them is there first. This is what they share, by its name.
function linkNamed(name) {
  const all = (window.headscopeLinks ??= {});
  return (all[name] ??= { shown: null, wanted: null, told: null, sent: [] });
}

// Frames a choice at once, everywhere, and has the link send it after a while.
function chooseThrough(name, value, wait = 0) {
  const link = linkNamed(name);
  link.wanted = { value, wait };
  showThrough(name, value);
  document.dispatchEvent(new CustomEvent('headscope:choose', { detail: { name } }));
}

function showThrough(name, value) {
  linkNamed(name).shown = value;
  document.dispatchEvent(new CustomEvent('headscope:chosen', { detail: { name, value } }));
}
