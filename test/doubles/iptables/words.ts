import { UnknownGrammar } from "./faults.ts";

/** iptables-restore reads lines into 10,240 bytes and silently continues a longer one as a new line. */
const LINE_BYTES = 10239;
/** xtables_restore_parse refuses a word of 1,024 bytes or more. */
const WORD_BYTES = 1023;

/**
 * Splits a line of restore text as iptables-restore does: at blanks, with double quotes around a word, and
 * with a backslash taking the next character literally inside quotes only.
 */
export function wordsOf(line: string): string[] {
  if (/[^\x20-\x7e\t]/.test(line))
    throw new UnknownGrammar(`other than printable ASCII in ${line}`);
  if (line.length > LINE_BYTES) throw new UnknownGrammar(`a line of ${line.length} bytes`);
  const words: string[] = [];
  const pattern = /[ \t]*(?:"((?:[^"\\]|\\.)*)"(?=[ \t]|$)|([^" \t]+)(?=[ \t]|$)|$)/y;
  while (pattern.lastIndex < line.length) {
    const at = pattern.lastIndex;
    const found = pattern.exec(line);
    if (found === null) throw new UnknownGrammar(`quotes in ${line.slice(at)}`);
    const word = found[1] === undefined ? found[2] : found[1].replace(/\\(.)/g, "$1");
    if (word === undefined) break;
    if (word.length > WORD_BYTES) throw new UnknownGrammar(`a word of ${word.length} bytes`);
    words.push(word);
  }
  return words;
}

/** `text` as iptables-save prints a string option (xtables_save_string). */
export function quoted(text: string): string {
  return /^[-\w]+$/.test(text) ? text : `"${text.replace(/["\\']/g, "\\$&")}"`;
}

/** Reads words from the front. */
export class Words {
  readonly #words: readonly string[];
  #at = 0;

  constructor(words: readonly string[]) {
    this.#words = words;
  }

  peek(ahead = 0): string | undefined {
    return this.#words[this.#at + ahead];
  }

  take(): string {
    const word = this.#words[this.#at++];
    if (word === undefined) throw new UnknownGrammar(`an end after ${this.#words.join(" ")}`);
    return word;
  }
}
