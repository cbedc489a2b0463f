// Types of the API's documents for the pages, from the OpenAPI document on standard input (`make types`).
import { readFileSync } from "node:fs";
import { compile } from "json-schema-to-typescript";

const openapi = JSON.parse(readFileSync(0, "utf-8"));
const $defs = JSON.parse(JSON.stringify(openapi.components.schemas).replaceAll("#/components/schemas/", "#/$defs/"));

/** Without the titles of members, each of which would be a type of its own. */
const untitled = (schema) => {
  if (Array.isArray(schema)) return schema.map(untitled);
  if (schema === null || typeof schema !== "object") return schema;
  const entries = Object.entries(schema).filter(([name, value]) => name !== "title" || typeof value !== "string");
  return Object.fromEntries(entries.map(([name, value]) => [name, untitled(value)]));
};

const text = await compile({ $defs: untitled($defs) }, "Documents", {
  bannerComment: "// Made of quiclens_questions/documents.py by `make types`; not to be edited.",
  unreachableDefinitions: true,
  style: { printWidth: 120 },
});
const plain = text
  .replace(/ \*\n \* This interface was referenced by `Documents`'s JSON-Schema\n \* via the `definition` "\w+"\.\n/g, "")
  .replace(/\/\*\*\n \* This interface was referenced by `Documents`'s JSON-Schema\n \* via the `definition` "\w+"\.\n \*\/\n/g, "")
  .replace(/export interface Documents \{[^}]*\}\n/, "");
process.stdout.write(plain);
