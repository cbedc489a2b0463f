// @ts-check
// Rows as RFC 4180 has them, as `--format csv` writes them: no text of a log is a formula for a spreadsheet.

// As quiclens_schema/plain_text.py: C0, DEL, C1, line separators, and what turns the direction of writing.
const CONTROL = /[\x00-\x1f\x7f-\x9f\u2028\u2029\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;
const FORMULA = /^[=+\-@\t\r]/; // https://owasp.org/www-community/attacks/CSV_Injection
const SHORT = /** @type {Record<string, string>} */ ({ "\n": "\\n", "\r": "\\r", "\t": "\\t" });

/** @param {unknown[][]} rows */
export function commaSeparated(rows) {
  return rows.map((row) => `${row.map(cell).join(",")}\r\n`).join("");
}

/** A number stays one, also below zero. @param {unknown} value */
function cell(value) {
  if (typeof value === "number") return String(value);
  const text = value === null || value === undefined ? "" : typeof value === "object" ? JSON.stringify(value) : String(value);
  const harmless = `${FORMULA.test(text) ? "'" : ""}${text.replace(CONTROL, escaped)}`;
  return /[",\r\n]/.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless;
}

/** @param {string} character */
function escaped(character) {
  const hex = character.charCodeAt(0).toString(16);
  return SHORT[character] ?? (hex.length < 3 ? `\\x${hex.padStart(2, "0")}` : `\\u${hex.padStart(4, "0")}`);
}
