// @ts-check
// Making elements without markup in text: what a log says can never become markup.

/**
 * @param {string} tag
 * @param {Record<string, unknown>} [properties] `class`, `data-…`, `aria-…` and other attributes; `on…` are listeners
 * @param {...(Node | string | number | null | undefined)} children
 * @returns {HTMLElement}
 */
export function el(tag, properties = {}, ...children) {
  const made = document.createElement(tag);
  set(made, properties, children);
  return made;
}

/**
 * The same for SVG.
 * @param {string} tag
 * @param {Record<string, unknown>} [properties]
 * @param {...(Node | string | number | null | undefined)} children
 * @returns {SVGElement}
 */
export function svg(tag, properties = {}, ...children) {
  const made = /** @type {SVGElement} */ (document.createElementNS("http://www.w3.org/2000/svg", tag));
  set(made, properties, children);
  return made;
}

/**
 * @param {Element} made
 * @param {Record<string, unknown>} properties
 * @param {(Node | string | number | null | undefined)[]} children
 */
function set(made, properties, children) {
  for (const [name, value] of Object.entries(properties)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on") && typeof value === "function") {
      made.addEventListener(name.slice(2), /** @type {EventListener} */ (value));
    } else {
      made.setAttribute(name, value === true ? "" : String(value));
    }
  }
  for (const child of children) {
    if (child !== null && child !== undefined) made.append(child instanceof Node ? child : String(child));
  }
}

/**
 * An element of the page that must be there.
 * @template {Element} T
 * @param {string} selector
 * @returns {T}
 */
export function find(selector) {
  const found = document.querySelector(selector);
  if (!found) throw new Error(`the page has no ${selector}`);
  return /** @type {T} */ (found);
}

/** Chooses a value; an address may have one that the form does not offer. @param {HTMLSelectElement} select @param {string} value */
export function chooseValue(select, value) {
  if (![...select.options].some((option) => option.value === value)) select.add(new Option(value));
  select.value = value;
}

/**
 * @param {Element} place
 * @param {...(Node | string)} children
 */
export function fill(place, ...children) {
  place.replaceChildren(...children);
}

/** What is drawn there answers the question before: it is pale until this one is answered. @param {...string} selectors */
export function isAsked(...selectors) {
  pale(selectors, true);
}

/** What is there answers what was asked last. @param {...string} selectors */
export function isTold(...selectors) {
  pale(selectors, false);
}

/** @param {string[]} selectors of places that a page may lack @param {boolean} isPale */
function pale(selectors, isPale) {
  for (const place of document.querySelectorAll(selectors.join(", "))) {
    place.classList.toggle("pale", isPale);
    place.setAttribute("aria-busy", String(isPale));
  }
}

/** @type {HTMLElement | null} */
let tip = null;

/**
 * A note beside the pointer; no text hides it.
 * @param {string} text
 * @param {{clientX: number, clientY: number}} [at]
 */
export function note(text, at) {
  if (!tip) {
    tip = el("div", { class: "tip", role: "status" });
    document.body.append(tip);
  }
  tip.hidden = !text;
  if (!text || !at) return;
  tip.textContent = text;
  const left = Math.min(at.clientX + 14, innerWidth - tip.offsetWidth - 8);
  const top = at.clientY + 16 + tip.offsetHeight > innerHeight ? at.clientY - tip.offsetHeight - 10 : at.clientY + 16;
  tip.style.left = `${Math.max(4, left)}px`;
  tip.style.top = `${top}px`;
}

/**
 * @param {string} name of a custom property
 * @returns {string}
 */
export function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}
