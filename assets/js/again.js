// Has the fragment that it is in run again after a while: for work that goes on meanwhile. Python
// counts, so that each run asks anew; a page that is closed asks no more.

export default function (component) {
  const { count, wait } = component.data;
  const timer = setTimeout(() => component.setTriggerValue('again', count), wait);
  return () => clearTimeout(timer);
}
