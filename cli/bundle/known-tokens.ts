import { lintSource } from "@secretlint/core";
import { rules } from "@secretlint/secretlint-rule-preset-recommend";
import { LEFT_OUT } from "./without-secrets.ts";

/** By it, a text could switch the other rules off. */
const BY_COMMENTS = "@secretlint/secretlint-rule-filter-comments";

/** secretlint's recommended rules: formats of the tokens and keys of some thirty products, which others maintain. */
const RULES = rules
  .filter(({ meta }) => meta.id !== BY_COMMENTS)
  .map((rule) => ({ id: rule.meta.id, rule, options: { enableIDScanRule: true } }));

/** End of a token: some rules report only a part of it. */
const END_OF_TOKEN = /[\s"'\\,;}]|$/g;

/** A text without the tokens and keys of known products. Rejects if a rule fails: a text that was not checked is in no bundle. */
export async function withoutKnownTokens(text: string): Promise<string> {
  const { messages } = await lintSource({
    source: { filePath: "bundle.txt", content: text, contentType: "text" },
    options: { config: { rules: RULES }, noPhysicFilePath: true },
  });
  let kept = "";
  let at = 0;
  for (const { range } of messages.toSorted((a, b) => a.range[0] - b.range[0])) {
    END_OF_TOKEN.lastIndex = range[1];
    const end = END_OF_TOKEN.exec(text)?.index ?? text.length;
    if (end <= at) continue;
    if (range[0] >= at) kept += `${text.slice(at, range[0])}${LEFT_OUT}`;
    at = end;
  }
  return kept + text.slice(at);
}
