/** Characters that are kept. */
const MOST = 2000;
/** Characters of a line that are kept: nft repeats its input, and marks all of it in the next line. */
const MOST_OF_LINE = 500;

/** The end of a stream of text, of which each long line is cut. */
export class TextEnd {
  #text = "";
  /** Characters of the last line. */
  #line = 0;

  add(chunk: string): void {
    for (const [i, part] of chunk.split("\n").entries()) {
      if (i > 0) {
        this.#text += "\n";
        this.#line = 0;
      }
      const kept = part.slice(0, MOST_OF_LINE - this.#line);
      this.#text = (this.#text + kept).slice(-MOST);
      this.#line += kept.length;
    }
  }

  get text(): string {
    return this.#text.trim();
  }
}
