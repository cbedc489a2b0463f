// @ts-check
// Colours of groups: as far apart as eyes can tell, and none of them the red of a loss.

const GROUPS = ["#2e6fd8", "#e07b1a", "#2fa84f", "#c23bb1", "#1f9aa0", "#b99b1c", "#8b6fd6", "#7a4b2a", "#6fb2e8", "#86c13f", "#c96a6a", "#8d939c"];

/** @param {number} place */
export function groupColour(place) {
  return GROUPS[place % GROUPS.length];
}

/** Of a request's stream: twelve colours in turn, the same wherever it is drawn; other streams are grey. @param {number} id */
export function streamColour(id) {
  return id % 4 === 0 ? groupColour(id / 4) : "#8d939c";
}

/** A name has one colour wherever it stands, unless another one beside it took that first. @param {string[]} names @returns {Map<string, string>} */
export function nameColours(names) {
  const taken = new Set();
  return new Map([...names].sort().map((name) => {
    let place = [...name].reduce((sum, letter) => (sum * 31 + (letter.codePointAt(0) ?? 0)) % 9973, 7) % GROUPS.length;
    for (let tried = 0; taken.has(place) && tried < GROUPS.length; tried++) place = (place + 1) % GROUPS.length;
    taken.add(place);
    return [name, GROUPS[place]];
  }));
}
