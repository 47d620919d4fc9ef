import { Refused, UnknownGrammar } from "./faults.ts";
import { parseMasked, parseRange } from "./parse-address.ts";
import { parseMatch } from "./parse-match.ts";
import { parseTarget } from "./parse-target.ts";
import type { Place } from "./place.ts";
import { type Match, type Negatable, type Rule, ruleText, type Target } from "./rule.ts";
import type { Words } from "./words.ts";

/** Parses what follows `-A CHAIN`. Throws `Refused` where the real tool does, else `UnknownGrammar`. */
export function parseRule(words: Words, place: Place): Rule {
  const rule: { source?: Negatable; destination?: Negatable; protocol?: string } = {};
  const matches: Match[] = [];
  let target: Target | undefined;
  for (let word = words.peek(); word !== undefined; word = words.peek()) {
    const negated = word === "!";
    if (negated) words.take(word);
    const option = words.take("!");
    if (option === "-s" || option === "-d") {
      const side = option === "-s" ? "source" : "destination";
      if (rule[side]) throw new Refused("syntax", `multiple ${option} flags not allowed`);
      const text = words.take(option);
      const range = parseMasked(text, place.family) ?? parseRange(text, place.family);
      // The tool leaves a range that matches everything out of the rule.
      if ("mask" in range || range.bits > 0) rule[side] = { range, negated };
      else if (negated)
        throw new UnknownGrammar(`a rule that matches nothing: ! ${option} ${range.text}`);
      continue;
    }
    if (negated) throw new UnknownGrammar(`! ${option}`);
    if (option === "-p") {
      if (rule.protocol) throw new Refused("syntax", "multiple -p flags not allowed");
      rule.protocol = parseProtocol(words.take("-p"));
    } else if (option === "-m") {
      matches.push(parseMatch(words, place.family, rule.protocol));
    } else if (option === "-j" || option === "-g") {
      if (target) throw new Refused("syntax", "multiple -j flags not allowed");
      target = parseTarget(option, words, place, rule.protocol);
    } else if (option.startsWith("-")) {
      throw new UnknownGrammar(`option ${option}`);
    } else {
      throw new Refused("syntax", `Bad argument \`${option}'`);
    }
  }
  const parsed = { ...rule, matches, ...(target && { target }) };
  return { ...parsed, text: ruleText(parsed) };
}

function parseProtocol(text: string): string {
  if (text !== "tcp" && text !== "udp" && text !== "sctp") throw new UnknownGrammar(`-p ${text}`);
  return text;
}
