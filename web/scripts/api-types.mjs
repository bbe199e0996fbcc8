// Writes src/api/schema.ts, the types of the API, from an OpenAPI document on standard input. The file
// is not kept: `make web-check` writes it from the current table of operations, so that a call which
// no longer fits an operation fails there.

import { writeFile } from "node:fs/promises";
import { text } from "node:stream/consumers";
import openapiTypescript, { astToString } from "openapi-typescript";

const document = JSON.parse(await text(process.stdin));
// a field with a default may be left out of a request
const types = await openapiTypescript(document, { defaultNonNullable: false });
await writeFile(new URL("../src/api/schema.ts", import.meta.url), astToString(types));
