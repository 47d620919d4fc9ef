/** A rule of another program, parsed far enough to evaluate whether it takes packets before our jumps. */
export interface ForeignRule {
  /** The whole line: `-A CHAIN …`. */
  readonly text: string;
  /** All must hold; comments are left out. Without any, every packet matches. */
  readonly conditions: readonly Condition[];
  readonly comments: readonly string[];
  /** Absent: the rule only counts. */
  readonly target?: Target;
}

/** One option of a rule, or one `-m`, because some matches have no options. */
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

/** Parses a line of iptables-save, `-A CHAIN …`. An unknown option becomes a condition that cannot be evaluated. */
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
    // A comment that looks like an option is printed without quotes.
    const isValue = () =>
      words[i] !== undefined && (words[i]?.quoted || !/^[-!]/.test(words[i]?.word ?? ""));
    if (option === "--comment") comments.push(words[i++]?.word ?? "");
    else while (isValue()) values.push(words[i++]?.word ?? "");
    if (option === "-j" || option === "-g") {
      // Options of the target follow.
      const target = { goto: option === "-g", name: values[0] ?? "" };
      return { text, conditions, comments, target };
    }
    const comment = option === "--comment" || (option === "-m" && values[0] === "comment");
    if (!comment) conditions.push({ option, negated, values });
    negated = false;
  }
  return { text, conditions, comments };
}

/** Words between blanks; double quotes keep words together, and a backslash in them escapes the next character. */
function wordsOf(line: string): { readonly word: string; readonly quoted: boolean }[] {
  return [...line.matchAll(/"((?:[^"\\]|\\.)*)"|[^ ]+/g)].map(([whole, inside]) =>
    inside === undefined
      ? { word: whole, quoted: false }
      : { word: inside.replace(/\\(.)/g, "$1"), quoted: true },
  );
}
