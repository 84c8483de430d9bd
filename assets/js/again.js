// Has the fragment that it is in run again after a while: for work that goes on meanwhile. Python
// counts, so that each run asks anew; a page that is closed asks no more.
//
// It asks only where the page rests. What asks tells Python the state of every widget too: between
// a choice and its answer that would be what they were before, and would undo the choice.

const REST_MS = 150;

export default function (component) {
  const { count, wait } = component.data;
  let rested = false;
  const ask = () => {
    const app = document.querySelector('[data-testid="stApp"]');
    const rests = !app || app.dataset.testScriptState === 'notRunning';
    if (rests && rested) {
      component.setTriggerValue('again', count);
      return;
    }
    rested = rests;
    timer = setTimeout(ask, REST_MS);
  };
  let timer = setTimeout(ask, Math.max(0, wait - REST_MS));
  return () => clearTimeout(timer);
}
