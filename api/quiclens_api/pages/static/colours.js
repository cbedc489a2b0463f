// @ts-check
// Colours of groups: as far apart as eyes can tell, and the same for the same place in a list.

const GROUPS = ["#2e6fd8", "#e07b1a", "#2fa84f", "#c23bb1", "#1f9aa0", "#b99b1c", "#8b6fd6", "#d63a3a", "#6fb2e8", "#86c13f", "#c96a6a", "#8d939c"];

/** @param {number} place */
export function groupColour(place) {
  return GROUPS[place % GROUPS.length];
}
