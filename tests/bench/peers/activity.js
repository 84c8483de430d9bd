// Put into a peer's page before all else: when was something last drawn? Elements that come or
// change count, and what is drawn on a canvas; two animation frames later it has been painted.
// What is done for each of a hundred thousand strokes is one addition, so as not to slow them down.

window.headscopeActivity = (() => {
  const now = { painted: null, nodes: () => document.querySelectorAll('*').length };
  let [drawn, known, quiet] = [0, 0, 0];  // quiet: frames since something was drawn
  const watch = new MutationObserver(() => { drawn += 1; });
  watch.observe(document, { childList: true, subtree: true, attributes: true });
  for (const name of ['putImageData', 'drawImage', 'fillRect', 'fill', 'stroke', 'fillText']) {
    const own = CanvasRenderingContext2D.prototype[name];
    CanvasRenderingContext2D.prototype[name] = function draw(...given) {
      drawn += 1;
      return own.apply(this, given);
    };
  }
  const look = () => {
    quiet = drawn === known ? quiet + 1 : 0;
    known = drawn;
    if (quiet === 2) now.painted = performance.now();
    requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
  // Something is there, and nothing was drawn for so many frames: a page that is at work has none.
  now.rests = frames => {
    const shown = [...document.querySelectorAll('svg, canvas, img')].some(element => {
      const box = element.getBoundingClientRect();
      const parts = element.tagName !== 'svg' || element.querySelector('line, rect, path');
      return box.width > 4 && box.height > 4 && parts;
    });
    return shown && document.readyState === 'complete' && now.painted !== null && quiet > frames;
  };
  return now;
})();
