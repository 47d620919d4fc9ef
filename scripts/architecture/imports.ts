import { posix } from "node:path";

/**
 * Every module that a source text names: imports and re-exports, of values or of types, at the start of a line
 * as the formatter leaves them, and `import()` and `require()` anywhere. PURE.
 */
export function specifiersOf(text: string): string[] {
  const code = withoutComments(text);
  const found = [
    ...code.matchAll(/^(?:import|export)\s[\w\s*{},$]*?\bfrom\s*["']([^"']+)["']/gm),
    ...code.matchAll(/^import\s*["']([^"']+)["']/gm),
    ...code.matchAll(/\b(?:import|require)\s*\(\s*["'`]([^"'`]+)["'`]/g),
  ];
  return [...new Set(found.map(([, specifier = ""]) => specifier))];
}

/**
 * What a specifier in the file `from` means: a path from the root of the tree, or, as it is, the name of a
 * built-in module or a package. PURE.
 */
export function resolved(from: string, specifier: string): string {
  return specifier.startsWith(".") ? posix.join(posix.dirname(from), specifier) : specifier;
}

/**
 * The text without the lines that are comments. What stands behind code stays: a wrong alarm is easily
 * reworded, an import that hides behind a quoted slash would not be seen. PURE.
 */
export function withoutComments(text: string): string {
  return text
    .split("\n")
    .filter((line) => !/^\s*(\/\/|\/\*|\*)/.test(line))
    .join("\n");
}
