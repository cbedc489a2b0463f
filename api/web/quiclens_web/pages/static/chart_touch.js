// @ts-check
// A finger that moves sideways over a chart selects a stretch of it, as a mouse does; up and down it scrolls the page.

const LEAST = 8; // pixels; less is a tap

/** @param {import("../vendor/uPlot.esm.js")} plot */
export function selectByTouch(plot) {
  const { over } = plot;
  const bare = { left: 0, top: 0, width: 0, height: 0 };
  /** @type {number | null} */
  let from = null;
  // What moves up or down is the browser's, which then says that the pointer is cancelled.
  over.style.touchAction = "pan-y";
  /** @param {PointerEvent} event @returns {[number, number]} left end and width */
  const stretch = (event) => {
    const [left, right] = [from ?? 0, Math.max(0, Math.min(over.clientWidth, event.offsetX))].sort((a, b) => a - b);
    return [left, right - left];
  };
  over.addEventListener("pointerdown", (event) => {
    if (event.pointerType !== "touch" || !event.isPrimary) return;
    from = event.offsetX;
    over.setPointerCapture(event.pointerId);
  });
  over.addEventListener("pointermove", (event) => {
    if (from === null || event.pointerType !== "touch") return;
    const [left, width] = stretch(event);
    plot.setSelect({ left, top: 0, width, height: over.clientHeight }, false);
  });
  over.addEventListener("pointerup", (event) => {
    if (from === null || event.pointerType !== "touch") return;
    const [left, width] = stretch(event);
    from = null;
    // As after a drag of the mouse, the chart's own hook takes the selection.
    plot.setSelect(width < LEAST ? bare : { left, top: 0, width, height: over.clientHeight }, width >= LEAST);
  });
  over.addEventListener("pointercancel", () => {
    from = null;
    plot.setSelect(bare, false);
  });
}
