// Put into a peer's page before all else: when was something last drawn? Elements that come or
// change count, and what is drawn on a canvas; two animation frames later it has been painted.

window.headscopeActivity = (() => {
  const now = { painted: null, drawn: 0 };
  let waiting = 0;
  const mark = () => {
    now.drawn += 1;
    const mine = ++waiting;
    requestAnimationFrame(() => requestAnimationFrame(() => {
      if (mine === waiting) now.painted = performance.now();
    }));
  };
  const watch = new MutationObserver(mark);
  watch.observe(document, { childList: true, subtree: true, attributes: true });
  for (const name of ['putImageData', 'drawImage', 'fillRect', 'fill', 'stroke', 'fillText']) {
    const own = CanvasRenderingContext2D.prototype[name];
    CanvasRenderingContext2D.prototype[name] = function draw(...given) {
      mark();
      return own.apply(this, given);
    };
  }
  // Something is there, and nothing was drawn for a while.
  now.rests = quiet => {
    const shown = [...document.querySelectorAll('svg, canvas, img')].some(element => {
      const box = element.getBoundingClientRect();
      const parts = element.tagName !== 'svg' || element.querySelector('line, rect, path');
      return box.width > 4 && box.height > 4 && parts;
    });
    return shown && document.readyState === 'complete' && now.painted !== null
      && performance.now() - now.painted > quiet;
  };
  now.nodes = () => document.querySelectorAll('*').length;
  return now;
})();
