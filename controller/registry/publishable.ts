import { isSubdomainName } from "../../api/names.ts";
import {
  isPropertyValue,
  MOST_PROPERTIES,
  MOST_PROPERTY_CHARACTERS,
} from "../../api/parse/parse-properties.ts";

/**
 * The ClusterProperties to publish, in order of their names. Values may be long (128,000 characters), but these are
 * copied to each imported slice, so readers limit them.
 */
export function publishable(
  properties: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> {
  const kept: [string, string][] = [];
  // Brackets; each property adds a colon and a comma.
  let characters = 2;
  for (const name of Object.keys(properties).sort()) {
    const value = properties[name];
    if (!isSubdomainName(name) || !isPropertyValue(value)) continue;
    characters += JSON.stringify(name).length + JSON.stringify(value).length + 2;
    if (kept.length === MOST_PROPERTIES || characters > MOST_PROPERTY_CHARACTERS) break;
    kept.push([name, value]);
  }
  return Object.fromEntries(kept);
}
