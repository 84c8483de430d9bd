// Has the fragment that it is in run again after a while: for work that goes on meanwhile. Python
// counts, so that each run asks anew; a page that is closed asks no more. It asks once more where
// the asking came to nothing, for it was sent along with something else that runs elsewhere.

const PATIENCE_MS = 3000;

export default function (component) {
  const { count, wait } = component.data;
  const root = rootOf(component, '', () => {});
  clearTimeout(root.timer);  // Streamlit calls this anew without ending the call before
  const ask = () => {
    component.setTriggerValue('again', count);
    root.timer = setTimeout(ask, PATIENCE_MS);
  };
  root.timer = setTimeout(ask, wait);
  return () => clearTimeout(root.timer);
}
