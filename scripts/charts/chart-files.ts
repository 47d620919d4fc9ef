import { readFileSync } from "node:fs";
import { join } from "node:path";
import { schema } from "./schema.ts";
import { templateText } from "./template.ts";
import { TEMPLATES } from "./templates.ts";

const DEPLOY = join(import.meta.dirname, "../../deploy");

/** Files of deploy/charts that are made of manifests and of the programs' flags, by path from the root of the tree. */
export function chartFiles(): ReadonlyMap<string, string> {
  const templates = TEMPLATES.map((template) => {
    const manifest = readFileSync(join(DEPLOY, template.source), "utf8");
    return [`deploy/charts/${template.path}`, templateText(manifest, template)] as const;
  });
  const schemaFile = "deploy/charts/clusterset-proxy/values.schema.json";
  return new Map([...templates, [schemaFile, `${JSON.stringify(schema(), undefined, 2)}\n`]]);
}
