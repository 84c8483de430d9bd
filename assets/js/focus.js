// Moves the keyboard to the first of what a button has just opened; Streamlit leaves it there.

const PATIENCE_MS = 2000;

export default function (component) {
  const { from, to } = component.data;
  const begun = performance.now();
  let timer = null;
  const look = () => {
    const first = document.querySelector(to);
    if (first && document.activeElement?.closest(from)) first.focus();
    else if (!first && performance.now() - begun < PATIENCE_MS) timer = setTimeout(look, 50);
  };
  look();
  return () => clearTimeout(timer);
}
