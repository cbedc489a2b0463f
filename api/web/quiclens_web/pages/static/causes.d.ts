/** Served by pages/routes.py from the one place that says how a cause looks. */
export const CAUSES: Map<string, { name: string; colour: string }>;
