// Says when a chart has been painted: two frames after its picture is there.

export default function (component) {
  let frame = null;
  const look = there => {
    const drawn = document.querySelector(`.st-key-${component.data.chart} .hm image`);
    if (there > 1) component.setTriggerValue('painted', true);
    else frame = requestAnimationFrame(() => look(drawn ? there + 1 : 0));
  };
  look(0);
  return () => cancelAnimationFrame(frame);
}
