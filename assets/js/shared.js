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
