// Serves a folder on a loopback address: the built qvis. It has no `/loadfiles`, so what qvis loads it loaded by itself.

import { createServer } from "node:http";
import { readFile } from "node:fs/promises";
import { extname, join, normalize } from "node:path";

const types = { ".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".json": "application/json" };

/** Resolves with the server once it listens; `origin` is http://HOST:PORT. */
export function serveFolder(folder, origin) {
  const { hostname, port } = new URL(origin);
  const server = createServer(async (request, response) => {
    const path = normalize(decodeURIComponent(new URL(request.url, origin).pathname));
    try {
      const body = await readFile(join(folder, path === "/" ? "index.html" : path));
      response.writeHead(200, { "Content-Type": types[extname(path)] ?? types[".html"] }).end(body);
    } catch {
      response.writeHead(404).end();
    }
  });
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(Number(port), hostname, () => resolve(server));
  });
}
