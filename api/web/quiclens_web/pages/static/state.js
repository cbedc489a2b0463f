// @ts-check
// What a page shows stands in its address, so that it can be sent to somebody.

/** @returns {URLSearchParams} */
export function state() {
  return new URLSearchParams(location.search);
}

/**
 * @param {Record<string, string | string[] | number | null | undefined>} changes null takes a name away
 * @param {boolean} [adds] a step to go back to
 */
export function change(changes, adds = true) {
  const now = state();
  for (const [name, value] of Object.entries(changes)) {
    now.delete(name);
    for (const each of Array.isArray(value) ? value : [value]) {
      if (each !== null && each !== undefined && each !== "") now.append(name, String(each));
    }
  }
  const query = now.toString();
  const address = `${location.pathname}${query ? `?${query}` : ""}${location.hash}`;
  if (adds) history.pushState(null, "", address);
  else history.replaceState(null, "", address);
  dispatchEvent(new Event("state"));
}

/** The page of a request, whose id has parts. @param {string} id */
export function requestPage(id) {
  return `/requests/${id.split("/").map(encodeURIComponent).join("/")}`;
}
