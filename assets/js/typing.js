// Runs the text after a short pause in typing, and at once on Enter. Shift+Enter is a new line.
// The text box stays Streamlit's own: this only presses its Ctrl+Enter.

const BOX = '[class*="st-key-text_widget"] textarea';

export default function (component) {
  const { pause } = component.data;
  let timer = null;
  let box = null;

  const commit = () => {
    clearTimeout(timer);
    const press = { key: 'Enter', code: 'Enter', ctrlKey: true, bubbles: true, cancelable: true };
    if (box && box.isConnected) box.dispatchEvent(new KeyboardEvent('keydown', press));
  };
  const onInput = event => {
    clearTimeout(timer);
    if (!event.isComposing) timer = setTimeout(commit, pause);
  };
  const onKey = event => {
    const plain = !event.shiftKey && !event.ctrlKey && !event.metaKey && !event.altKey;
    if (event.key !== 'Enter' || !plain || event.isComposing) return;
    event.preventDefault();
    event.stopPropagation();
    commit();
    // Once more: a busy page may not have taken in yet what was typed just before, and Streamlit's
    // box then has nothing to send. Where it was sent, this does nothing.
    timer = setTimeout(commit, pause);
  };
  const leave = () => {
    clearTimeout(timer);
    if (!box) return;
    box.removeEventListener('input', onInput);
    box.removeEventListener('compositionend', onInput);
    box.removeEventListener('keydown', onKey, true);
    box = null;
  };
  const attach = () => {
    const found = document.querySelector(BOX);
    if (found === box) return;
    leave();
    box = found;
    if (!box) return;
    box.addEventListener('input', onInput);
    box.addEventListener('compositionend', onInput);
    box.addEventListener('keydown', onKey, true);
  };
  const observer = new MutationObserver(attach);
  observer.observe(document.body, { childList: true, subtree: true });
  attach();
  return () => {
    observer.disconnect();
    leave();
  };
}
