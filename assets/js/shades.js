// What the chosen token looks at, for strip.js: sent with every choice, which the tokens are not.

export default function (component) {
  const { header, body } = unpack(component.data);
  const bytes = 4 * header.count;
  const weights = new Float32Array(body.slice(0, bytes).buffer);
  const shades = Array.from(body.subarray(bytes), step => step / header.steps);
  window.headscopeShades = { ...header, weights, shades };
  document.dispatchEvent(new CustomEvent('headscope:shaded'));
}
