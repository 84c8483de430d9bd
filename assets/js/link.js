// The link between pictures that choose and Python. It is in the fragment that shows what is
// chosen, so that only this runs again; the pictures, elsewhere on the page, are not sent anew.
// See linkNamed in shared.js for what they share.

export default function (component) {
  const { name, value, event } = component.data;
  const root = rootOf(component, '', () => {});
  root.stop?.();  // Streamlit calls this anew for new data without ending the call before
  const link = linkNamed(name);
  if (!root.began) link.sent = [];  // what an earlier page sent
  root.began = true;
  told(link, name, value);

  let timer = null;
  const send = () => {
    if (!link.wanted) return;
    const wanted = link.wanted.value;
    link.wanted = null;
    link.sent.push(String(wanted));
    component.setTriggerValue(event, wanted);
  };
  const onChoose = ({ detail }) => {
    if (detail.name !== name || !link.wanted) return;
    clearTimeout(timer);
    timer = setTimeout(send, link.wanted.wait);
  };
  document.addEventListener('headscope:choose', onChoose);
  onChoose({ detail: { name } });
  root.stop = () => {
    document.removeEventListener('headscope:choose', onChoose);
    clearTimeout(timer);
  };
  return root.stop;
}

// What Python shows is framed, unless the reader is ahead of it: then this is an answer to a
// choice before the last, or what was shown before them all.
function told(link, name, value) {
  const at = link.sent.lastIndexOf(String(value));
  const late = at < 0 && link.sent.length > 0 && String(value) === String(link.told);
  link.told = value;
  if (!late) link.sent = link.sent.slice(at < 0 ? link.sent.length : at + 1);
  if (!link.wanted && !link.sent.length) showThrough(name, value);
}
