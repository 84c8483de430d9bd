// Measures in the page itself: from an input event to the frame in which its pictures are there.
// `headscopeWatch.arm(wanted)` looks at the pictures as they are and waits for the next input event;
// `headscopeWatch.result()` gives what happened since. A picture is told by what is in it: the data
// of an SVG image, or some of a canvas's pixels. All of `wanted.changes` must differ from before
// and be there for two more animation frames, so that they have been painted.

window.headscopeWatch ??= (() => {
  const SAMPLED = 48;  // px a side that are read of a canvas

  const all = (root, selector) => {
    const found = [...root.querySelectorAll(selector)];
    for (const element of root.querySelectorAll('*')) {
      if (element.shadowRoot) found.push(...all(element.shadowRoot, selector));
    }
    return found;
  };
  const places = selector => [...document.querySelectorAll(selector)]
    .filter(place => place.getClientRects().length);
  const inside = (place, selector) => places(place).flatMap(found => all(found, selector));

  const sample = document.createElement('canvas');
  sample.width = sample.height = SAMPLED;
  const pen = sample.getContext('2d', { willReadFrequently: true });
  pen.imageSmoothingEnabled = false;
  const pixels = canvas => {
    if (!canvas.width || !canvas.height) return '';
    pen.clearRect(0, 0, SAMPLED, SAMPLED);
    pen.drawImage(canvas, 0, 0, SAMPLED, SAMPLED);
    const read = new Uint32Array(pen.getImageData(0, 0, SAMPLED, SAMPLED).data.buffer);
    let [hash, any] = [2166136261, 0];
    for (const pixel of read) {
      hash = Math.imul(hash ^ pixel, 16777619) >>> 0;
      any |= pixel;
    }
    return any ? `${canvas.width}×${canvas.height}:${hash}` : '';
  };
  const picture = place => inside(place, '.hm image, canvas')
    .map(element => (element.tagName === 'CANVAS'
      ? pixels(element)
      : element.getAttribute('href') ?? element.getAttribute('xlink:href') ?? ''))
    .filter(Boolean).join('|');
  // The strip measures in the background, which takes a core.
  const measuring = () =>
    /Measuring …|comparing …/.test(document.querySelector('.st-key-timing')?.innerText);
  const overview = () => inside('.st-key-overview', '.map').find(map => map.dataset.painted);
  const full = painted => {
    const [done, of] = (painted ?? '').split('/');
    return Boolean(of) && done === of;
  };

  const signs = {
    detail: () => picture('.st-key-detail_place') || picture('.st-key-tiles'),
    grid: () => picture('.st-key-grid_place'),
    frame: () => inside('.st-key-grid_place', '.shapelayer path')
      .map(path => path.getAttribute('d')).join('|'),
    run: () => overview()?.dataset.run ?? '',
    all: () => (full(overview()?.dataset.painted) ? picture('.st-key-overview') : ''),
    answer: () => places('.st-key-answer').map(place => place.innerText).join(),
  };
  const fresh = () => !document.querySelector('.st-key-pictures[data-stale="true"], '
    + '.st-key-pictures [data-stale="true"]');

  // "implementation=looped" is to be in the address; "!implementation=" is not.
  const addressed = wanted => {
    const not = wanted.startsWith('!');
    return window.location.search.includes(not ? wanted.slice(1) : wanted) !== not;
  };

  let now = null;

  // What is there for two frames has been painted in the first of them.
  const settle = (name, there) => {
    if (!there) {
      delete now.since[name];
      delete now.parts[name];
    } else if ((now.since[name] ??= now.frame) + 2 <= now.frame) {
      now.parts[name] ??= performance.now() - now.start;
    }
    return name in now.parts;
  };
  const look = () => {
    if (!now || now.over) return;
    now.frame += 1;
    if (now.start !== null) {
      const painted = now.wanted.changes.map(name => {
        const seen = signs[name]();
        return settle(name, seen && seen !== now.before[name]);
      });
      painted.push(settle('rest', addressed(now.wanted.address) && fresh()));
      if (painted.every(Boolean)) {
        now.ms = Math.max(...Object.values(now.parts));
        now.over = true;
        return;
      }
    }
    if (performance.now() - now.armed > now.wanted.limit) now.over = true;
    else requestAnimationFrame(look);
  };
  const begin = event => {
    if (!now || now.start !== null || event.type !== now.wanted.event) return;
    if (event.type === 'keydown' && event.key !== 'Enter') return;
    now.start = event.timeStamp;
  };
  for (const type of ['pointerdown', 'keydown']) window.addEventListener(type, begin, true);

  return {
    arm(wanted) {
      const before = Object.fromEntries(wanted.changes.map(name => [name, signs[name]()]));
      now = { wanted, before, since: {}, parts: {}, frame: 0, start: null, ms: null, over: false,
              armed: performance.now() };
      requestAnimationFrame(look);
    },
    over: () => now.over,
    result: () => ({ ms: now.ms, parts: now.parts, started: now.start !== null }),
    complete: () => (!overview() || full(overview().dataset.painted)) && !measuring(),
    nodes: () => all(document, '*').length,
  };
})();
