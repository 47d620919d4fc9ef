/** A rule as iptables-save prints it, read as far as it must be to tell whether it takes a packet from us. */
export interface ForeignRule {
  /** The whole line: `-A CHAIN …`. */
  readonly text: string;
  /** All must hold; a comment is none. Without any, every packet matches. */
  readonly conditions: readonly Condition[];
  readonly comments: readonly string[];
  /** Absent: the rule only counts. */
  readonly target?: Target;
}

/** One option of a rule, or one `-m` as such: what it asks may be all in its name. */
export interface Condition {
  readonly option: string;
  readonly negated: boolean;
  readonly values: readonly string[];
}

/** Where a matching packet goes: a chain, or a verdict or extension of the kernel. */
export interface Target {
  readonly goto: boolean;
  readonly name: string;
}

/** Parses a line of iptables-save, `-A CHAIN …`. What it does not know becomes a condition that nobody can judge. */
export function parseForeign(text: string): ForeignRule {
  const words = wordsOf(text).slice(2);
  const conditions: Condition[] = [];
  const comments: string[] = [];
  let negated = false;
  for (let i = 0; i < words.length; ) {
    const { word: option = "" } = words[i++] ?? {};
    if (option === "!") {
      negated = true;
      continue;
    }
    const values: string[] = [];
    // A comment may look like an option, and is printed without quotes even then.
    const isValue = () =>
      words[i] !== undefined && (words[i]?.quoted || !/^[-!]/.test(words[i]?.word ?? ""));
    if (option === "--comment") comments.push(words[i++]?.word ?? "");
    else while (isValue()) values.push(words[i++]?.word ?? "");
    if (option === "-j" || option === "-g") {
      // All that follows are options of the target.
      return {
        text,
        conditions,
        comments,
        target: { goto: option === "-g", name: values[0] ?? "" },
      };
    }
    const comment = option === "--comment" || (option === "-m" && values[0] === "comment");
    if (!comment) conditions.push({ option, negated, values });
    negated = false;
  }
  return { text, conditions, comments };
}

/** Words between blanks; double quotes keep them together, and a backslash within takes what follows as it is. */
function wordsOf(line: string): { readonly word: string; readonly quoted: boolean }[] {
  return [...line.matchAll(/"((?:[^"\\]|\\.)*)"|[^ ]+/g)].map(([whole, inside]) =>
    inside === undefined
      ? { word: whole, quoted: false }
      : { word: inside.replace(/\\(.)/g, "$1"), quoted: true },
  );
}
