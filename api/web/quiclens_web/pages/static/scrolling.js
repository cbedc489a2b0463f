// @ts-check
// What scrolls within a page takes the focus, so that keys scroll it: tables wider than their place, cards of a phone, code.
// (WCAG 2.2, 2.1.1 Keyboard; not every browser does it by itself.)

const SCROLLS = ".wide, .card, pre.event";
const FOCUSABLE = "a[href], button, input, select, textarea, summary, [tabindex]";
const OURS = "scrolls"; // marks what took the focus here, and gives it back where nothing scrolls any more

/** @param {HTMLElement} place */
function reach(place) {
  const isCut = place.scrollWidth > place.clientWidth || place.scrollHeight > place.clientHeight;
  const isNeeded = isCut && getComputedStyle(place).overflow !== "visible" && !place.querySelector(FOCUSABLE);
  if (isNeeded === OURS in place.dataset) return;
  if (isNeeded) {
    place.dataset[OURS] = "";
    place.tabIndex = 0;
  } else {
    delete place.dataset[OURS];
    place.removeAttribute("tabindex");
  }
}

let isAsked = false;

/** All of the page, once before the next frame is drawn. */
function reachAll() {
  if (isAsked) return;
  isAsked = true;
  requestAnimationFrame(() => {
    isAsked = false;
    for (const place of /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll(SCROLLS))) reach(place);
  });
}

/** From now on, whatever comes and goes. */
export function keepScrolling() {
  new MutationObserver(reachAll).observe(document.body, { childList: true, subtree: true });
  addEventListener("resize", reachAll);
  reachAll();
}
