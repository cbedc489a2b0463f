// @ts-check
// Asking the API. An answer that is no success becomes an Error with the server's own words.

/** @typedef {Record<string, string | number | string[] | null | undefined>} Parameters */

/** @param {Parameters} parameters a list is a name that stands several times; what is empty is left out */
export function queryOf(parameters) {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) {
    for (const each of Array.isArray(value) ? value : [value]) {
      if (each !== null && each !== undefined && each !== "") query.append(name, String(each));
    }
  }
  return query;
}

/**
 * @template {string} Path
 * @param {Path} path
 * @param {Parameters} [parameters]
 * @param {AbortSignal} [signal]
 * @returns {Promise<import("./answers.js").Answer<Path>>}
 */
export async function ask(path, parameters = {}, signal) {
  return (await asked(path, parameters, "application/json", signal)).json();
}

/** @param {string} path @param {Parameters} parameters @param {AbortSignal} [signal] @returns {Promise<string>} */
export async function askText(path, parameters, signal) {
  return (await asked(path, parameters, "text/markdown, image/svg+xml, application/problem+json", signal)).text();
}

/** @param {string} path @param {Parameters} parameters @param {string} accept @param {AbortSignal} [signal] */
async function asked(path, parameters, accept, signal) {
  const answer = await fetch(`${path}?${queryOf(parameters)}`, { signal, headers: { accept } }).catch((error) => {
    throw signal?.aborted ? error : new Error("The server does not answer. Is quiclens serve running, and can it be reached? Then load this page again.");
  });
  if (!answer.ok) throw new Error(problemText(await answer.json().catch(() => ({ detail: answer.statusText }))));
  return answer;
}

/** @param {{ detail?: string, hint?: string }} problem RFC 9457, with our `hint` */
export function problemText(problem) {
  return [problem.detail, problem.hint].filter(Boolean).join(": ");
}

/**
 * Only the newest of several questions of one kind is answered; an older one is given up.
 * @returns {(work: (signal: AbortSignal) => Promise<void>, failed: (message: string) => void) => Promise<void>}
 */
export function newest() {
  let running = new AbortController();
  return async (work, failed) => {
    running.abort();
    const mine = (running = new AbortController());
    try {
      await work(mine.signal);
    } catch (error) {
      if (!mine.signal.aborted) failed(error instanceof Error ? error.message : String(error));
    }
  };
}
