import { isSubdomainName } from "../../api/names.ts";
import {
  isPropertyValue,
  MOST_PROPERTIES,
  MOST_PROPERTY_CHARACTERS,
} from "../../api/parse/parse-properties.ts";

/**
 * The ClusterProperties that a cluster tells others of itself, by name in order: those that every reader takes. A
 * ClusterProperty may hold 128,000 characters, what is told with each slice may not.
 */
export function publishable(
  properties: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> {
  const kept: [string, string][] = [];
  // Brackets; each property adds its own text, a colon and a comma.
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
