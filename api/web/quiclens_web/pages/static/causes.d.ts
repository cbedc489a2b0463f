/** Served by pages/page.py from the one place that says how a cause looks; colours are variables of /causes.css. */
export const CAUSES: Map<string, { name: string }>;
